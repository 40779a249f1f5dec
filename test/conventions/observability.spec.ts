import { readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { parser } from '@prometheus-io/lezer-promql';
import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { aServer } from '../support/documents.js';
import { aFolder } from '../support/folder.js';
import { call } from '../support/http.js';
import { aName, aPublication } from '../support/publishing.js';
import { aWebhookSecret } from '../support/receiver.js';
import { aService } from '../support/service.js';
import { within } from '../support/within.js';

const ROOT = resolve(import.meta.dirname, '../..');
const FOLDER = 'deploy/observability';
const textOf = (file: string) => readFileSync(join(ROOT, file), 'utf8');

interface Rule {
  readonly alert: string;
  readonly expr: string;
  readonly annotations: { readonly summary: string; readonly runbook_url: string };
}

const { groups } = parse(textOf('deploy/helm/registry-server/alerts.yml')) as { groups: { rules: Rule[] }[] };
const RULES = groups.flatMap(({ rules }) => rules);
const dashboard = JSON.parse(textOf(`${FOLDER}/grafana/registry.json`)) as {
  panels: { title: string; type: string; targets?: { expr: string; legendFormat: string }[] }[];
};
const PANELS = dashboard.panels.filter(({ type }) => type !== 'row');

/** Substitutes the variables that Grafana and Prometheus fill in. */
const filledIn = (query: string) => query.replaceAll('$__rate_interval', '5m').replaceAll('$instance', '.*');
const QUERIES = [
  ...RULES.map(({ alert, expr }) => [alert, expr] as const),
  ...PANELS.flatMap(({ title, targets = [] }) =>
    targets.map(({ expr }) => [`${title}: ${expr}`, filledIn(expr)] as const),
  ),
];
/** Labels that Prometheus adds. */
const OF_PROMETHEUS = new Set(['instance', 'job', 'le']);

interface Asked {
  readonly metrics: Set<string>;
  readonly labels: Set<string>;
  readonly errors: string[];
}

/** The metrics and labels in a query, and its syntax errors. */
function askedBy(query: string): Asked {
  const asked: Asked = { metrics: new Set(), labels: new Set(), errors: [] };
  parser.parse(query).iterate({
    enter: ({ type, from, to, node }) => {
      const text = query.slice(from, to);
      if (type.isError) asked.errors.push(`at ${from}`);
      else if (type.name === 'Identifier' && node.parent?.type.name === 'VectorSelector')
        asked.metrics.add(text);
      else if (type.name === 'LabelName') asked.labels.add(text);
    },
  });
  return asked;
}

/** The metrics whose names `promtool check metrics` rejects. */
function rejectedNames(exposition: string): string[] {
  const typed = [...exposition.matchAll(/^# TYPE (\w+) (\w+)$/gm)];
  expect(typed.length).toBeGreaterThan(40);
  return typed.flatMap(([, name = '', type = '']) => {
    const isCounter = type === 'counter';
    const isDistribution = type === 'histogram' || type === 'summary';
    const isRejected =
      isCounter !== name.endsWith('_total') ||
      (!isDistribution && /_(count|sum|bucket)$/.test(name)) ||
      /_(counter|gauge|histogram|summary|metric)(_|$)/.test(name) ||
      /_(s|ms|us|ns|sec|b|kb|mb|gb|m|h|d|milliseconds|minutes|hours|days|kilobytes|megabytes)(_|$)/.test(
        name,
      ) ||
      /[A-Z]/.test(name) ||
      !new RegExp(`^# HELP ${name} \\S`, 'm').test(exposition);
    return isRejected ? [name] : [];
  });
}

describe('dashboard and alerts', () => {
  const folder = aFolder();
  const webhook = { url: 'http://127.0.0.1:9/in', secretFile: folder.write('secret', aWebhookSecret()) };
  const service = aService({ mode: 'full' })
    .source('tools', { servers: [aServer('io.acme/a')] })
    .source('made', { kind: 'managed' })
    .registry('main', { sources: ['tools', 'made'] })
    .configuration({
      webhooks: [{ name: 'siem', ...webhook }],
      admission: { webhooks: [{ name: 'scan', ...webhook, onFailure: 'admit' }] },
    })
    .runs();

  it('use metrics and labels of a running service', async () => {
    const writer = service.as({ role: 'writer', org: 'acme' });
    await writer.post('/v1/entries', aPublication('server', aName(), { org: 'acme' }));
    await writer.get('/registry/main/v0.1/servers');
    await writer.get('/v1/sources');
    await service.synced('tools');
    const ask = async () => (await call(`${service.internalOrigin}/metrics`)).text;
    await within(20_000, async () => expect(await ask()).toContain('registry_webhook_lag_seconds{'));
    const shown = await ask();
    // An in-process service lacks the metrics of the process and the build, which `serve` adds.
    const { Metrics } = await import('../../dist/telemetry/metrics.js');
    const process = new Metrics().withProcess().withBuild({ version: '1', commit: 'a' });
    const text = `${shown}\n${(await process.exposition()).text}`;
    expect(rejectedNames(text)).toEqual([]);
    const series = new Map<string, Set<string>>();
    for (const [, name = '', labels = ''] of text.matchAll(/^(\w+)(?:\{(.*)\})? \S+$/gm)) {
      const known = series.get(name) ?? new Set();
      for (const [, label = ''] of labels.matchAll(/(\w+)="/g)) known.add(label);
      series.set(name, known);
    }
    const missing = QUERIES.flatMap(([what, query]) => {
      const { metrics, labels } = askedBy(query);
      const unknown = [...metrics].filter((name) => name !== 'up' && !series.has(name));
      const known = new Set([...metrics].flatMap((name) => [...(series.get(name) ?? [])]));
      const odd = [...labels].filter((label) => !OF_PROMETHEUS.has(label) && !known.has(label));
      return [...unknown, ...odd].map((name) => `${what}: ${name}`);
    });
    expect(missing).toEqual([]);
    const documents = ['observability', 'sync'].map((page) => textOf(`docs/${page}.md`)).join('\n');
    const own = [...text.matchAll(/^# TYPE ((?:registry|http|db)_\w+) /gm)].map(([, name = '']) => name);
    expect(own.filter((name) => !documents.includes(`\`${name}\``))).toEqual([]);
    expect(RULES.length).toBeGreaterThan(10);
    expect(PANELS.length).toBeGreaterThan(20);
  });
});

it.each(QUERIES)('%s is PromQL', (_what, query) => {
  const { errors, metrics } = askedBy(query);
  expect(errors).toEqual([]);
  expect(metrics.size).toBeGreaterThan(0);
});

it('an invalid query is detected', () => {
  expect(askedBy('sum by (le (rate(x[5m]))').errors).not.toEqual([]);
});

it.each(RULES)('$alert is explained in docs/operating.md', ({ alert, annotations, expr }) => {
  const page = textOf('docs/operating.md');
  const headings = [...page.matchAll(/^### (\w+)$/gm)].map(([, heading]) => heading);
  expect(headings).toContain(alert);
  expect(annotations.runbook_url).toBe(`docs/operating.md#${alert.toLowerCase()}`);
  const { labels } = askedBy(expr);
  for (const [, label = ''] of annotations.summary.matchAll(/\$labels\.(\w+)/g))
    if (label !== 'instance') expect([...labels, 'db_client_connection_pool_name']).toContain(label);
});

it('alerts on generic metrics are limited to the job that compose and the chart name', () => {
  const foreign = RULES.flatMap(({ expr }) => [
    ...expr.matchAll(/\b(?:http_server|db|nodejs|process)_\w+|\bup\b/g),
  ]);
  expect(foreign.length).toBeGreaterThan(5);
  for (const { input, index, 0: name } of foreign)
    expect(input.slice(index + name.length)).toMatch(/^\{job="registry"[,}]/);
  expect(textOf(`${FOLDER}/prometheus.yml`)).toContain('job_name: registry\n');
  const monitor = textOf('test/conventions/chart/ha.yaml').split('kind: ServiceMonitor')[1];
  expect(monitor).toContain('{ targetLabel: job, replacement: registry }');
});

interface Service {
  readonly image?: string;
  readonly profiles?: string[];
  readonly ports?: string[];
  readonly volumes?: string[];
}

it('the observability profile pins one version per image, listens on loopback and mounts existing files', () => {
  const { services, volumes } = parse(textOf('docker-compose.yml')) as {
    services: Record<string, Service>;
    volumes: Record<string, unknown>;
  };
  const added = Object.values(services).filter(({ profiles }) => profiles?.includes('observability'));
  expect(added).toHaveLength(4);
  for (const { image = '', ports = [], volumes: mounted = [] } of added) {
    expect(image).toMatch(/:v?\d+\.\d+\.\d+$/);
    expect(ports.filter((port) => !port.startsWith('127.0.0.1:'))).toEqual([]);
    for (const [source = ''] of mounted.map((volume) => volume.split(':')))
      if (source.startsWith('./')) expect(textOf(source)).not.toBe('');
      else expect(Object.keys(volumes)).toContain(source);
  }
});
