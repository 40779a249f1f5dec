import { readdirSync, readFileSync } from 'node:fs';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { Ajv } from 'ajv';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { parse, parseAllDocuments } from 'yaml';
import { loadConfig } from '../../dist/config/load-config.js';
import { API_GROUP, RESOURCES } from '../../dist/sync/kubernetes/custom-resources.js';
import { type KubernetesObject, problemsOf } from '../support/kubernetes-schema.js';

const ROOT = resolve(import.meta.dirname, '../..');
const CHART = join(ROOT, 'deploy/helm/registry-server');
const RENDERED = join(import.meta.dirname, 'chart');
const { chartDigest } = (await import(join(ROOT, 'scripts/chart.mjs'))) as { chartDigest(): string };
const textOf = (...path: string[]) => readFileSync(join(...path), 'utf8');

interface Schema {
  readonly properties?: Record<string, Schema>;
  readonly additionalProperties?: unknown;
}
type Values = Record<string, unknown>;

const schema = JSON.parse(textOf(CHART, 'values.schema.json')) as Schema;
const defaults = parse(textOf(CHART, 'values.yaml')) as Values;
const accepts = new Ajv({ strict: false }).compile(schema);
const SETS = readdirSync(join(CHART, 'ci')).map((file) => file.replace('-values.yaml', ''));

const isObject = (value: unknown): value is Values =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** Merges values over defaults as Helm does. */
function over(below: Values, above: Values): Values {
  const merged = Object.entries(above).map(([key, value]) => {
    const other = below[key];
    return [key, isObject(value) && isObject(other) ? over(other, value) : value] as const;
  });
  return { ...below, ...Object.fromEntries(merged) };
}

/** Each value with its path, as deep as the schema names members. */
function pathsOf(values: Values, at: Schema, path: string[] = []): string[] {
  return Object.entries(values).flatMap(([key, value]) => {
    const below = at.properties?.[key];
    return isObject(value) && below?.properties
      ? pathsOf(value, below, [...path, key])
      : [[...path, key].join('.')];
  });
}

function pathsIn(at: Schema, path: string[] = []): string[] {
  return Object.entries(at.properties ?? {}).flatMap(([key, below]) =>
    below.properties ? pathsIn(below, [...path, key]) : [[...path, key].join('.')],
  );
}

describe('the values of the Helm chart', () => {
  it('and the schema name the same members', () => {
    const fromOutside = [
      'global',
      'database.cloudnativepg.resources.limits',
      'database.cloudnativepg.resources.requests',
    ];
    const named = pathsIn(schema).filter((path) => !fromOutside.includes(path));
    const known = pathsOf(defaults, schema).filter((path) => path !== 'database.cloudnativepg.resources');
    expect(known.sort()).toEqual(named.sort());
  });

  it.each(SETS)('are accepted: %s', (set) => {
    const values = over(defaults, (parse(textOf(CHART, 'ci', `${set}-values.yaml`)) ?? {}) as Values);
    accepts(values);
    expect(accepts.errors ?? []).toEqual([]);
  });

  it.each([
    ['a misspelt value', { replica: 3 }],
    ['a misspelt nested value', { database: { external: { hostname: 'db' } } }],
    ['database in the configuration instead of its own value', { config: { database: { host: 'db' } } }],
    ['an ingress without a host', { ingress: { enabled: true } }],
    ['a route without a gateway', { gateway: { enabled: true } }],
    ['a secret at the path of the database secret', { existingSecrets: ['database'] }],
    ['an invalid digest', { image: { digest: 'latest' } }],
    ['egress to every port', { networkPolicy: { egress: [{ to: [{ podSelector: {} }] }] } }],
    ['DNS from anywhere', { networkPolicy: { dns: [] } }],
  ])('are refused: %s', (_what, values) => {
    expect(accepts(over(defaults, values))).toBe(false);
  });
});

interface Rendered {
  readonly kind: string;
  readonly metadata: { readonly name: string; readonly namespace?: string };
  readonly data: Record<string, string>;
  readonly rules: unknown;
  readonly subjects: unknown;
  readonly roleRef: { readonly kind: string; readonly name: string };
  readonly spec: {
    readonly policyTypes: string[];
    readonly egress: { to?: object[]; ports: { port: number }[] }[];
    readonly template: {
      readonly spec: {
        readonly automountServiceAccountToken: boolean;
        readonly serviceAccountName: string;
        readonly containers: {
          readonly args: string[];
          readonly ports: { name: string; containerPort: number }[];
          readonly volumeMounts: { mountPath: string }[];
        }[];
      };
    };
  };
}

function rendered(set: string): (kind: string) => Rendered[] {
  const all = parseAllDocuments(textOf(RENDERED, `${set}.yaml`)).map((one) => one.toJS() as Rendered);
  return (kind) => all.filter((one) => one.kind === kind);
}

describe('the manifests sent to Kubernetes', () => {
  const OF_OTHERS = ['Cluster', 'HTTPRoute', 'ServiceMonitor'];
  const files = [
    ...SETS.map((set) => join(RENDERED, `${set}.yaml`)),
    ...['rbac', 'registry'].map((name) => join(ROOT, `deploy/kubernetes/${name}.yaml`)),
  ];

  it.each(files)('have only known members of the right types: %s', (file) => {
    const objects = parseAllDocuments(textOf(file)).map((one) => one.toJS() as KubernetesObject);
    expect(objects.length).toBeGreaterThan(2);
    for (const object of objects) {
      const problems = problemsOf(object);
      if (problems === null) expect(OF_OTHERS).toContain(object.kind);
      else expect(problems).toEqual([]);
    }
  });

  it.each([
    [{ spec: { replica: 2 } }, 'Deployment.spec.replica is unknown'],
    [{ spec: { replicas: '2' } }, 'Deployment.spec.replicas is not a number'],
    [
      { spec: { template: { spec: { containers: [{ image: 1 }] } } } },
      'Deployment.spec.template.spec.containers[0].image is not a string',
    ],
    [{ metadata: { labels: { a: true } } }, 'Deployment.metadata.labels.a is not a string'],
  ])('are reported when wrong: %j', (more, problem) => {
    expect(problemsOf({ apiVersion: 'apps/v1', kind: 'Deployment', ...more })).toEqual([problem]);
  });
});

describe('the rendered chart', () => {
  let folder = '';
  beforeAll(async () => (folder = await mkdtemp(join(tmpdir(), 'registry-chart-'))));
  afterAll(() => rm(folder, { recursive: true }));

  it('is up to date with the chart: node scripts/chart.mjs --update', () => {
    expect(textOf(RENDERED, 'digest.txt').trim()).toBe(chartDigest());
    const files = readdirSync(RENDERED).filter((file) => file.endsWith('.yaml'));
    expect(files.sort()).toEqual(SETS.map((set) => `${set}.yaml`).sort());
  });

  it.each(SETS)('has a configuration that loads, with files where the pod mounts them: %s', async (set) => {
    const [configMap] = rendered(set)('ConfigMap');
    const [deployment] = rendered(set)('Deployment');
    const [container] = deployment?.spec.template.spec.containers ?? [];
    const text = configMap?.data['registry.yaml'] ?? '';
    const mounted = container?.volumeMounts.map(({ mountPath }) => `${mountPath}/`) ?? [];
    for (const [file] of text.matchAll(/\/(?:run\/secrets|etc)\/\S+/g))
      expect(mounted.filter((path) => file.startsWith(path))).toHaveLength(1);
    expect(mounted).toContain('/tmp/');
    const [secret, certificate] = [join(folder, 'secret'), join(folder, 'ca.crt')];
    await writeFile(secret, 'k'.repeat(43));
    await writeFile(certificate, '-----BEGIN CERTIFICATE-----');
    const file = join(folder, `${set}.yaml`);
    const onDisk = (path: string) => (path.endsWith('.crt') ? certificate : secret);
    await writeFile(file, text.replaceAll(/\/run\/secrets\/\S+/g, onDisk));
    expect(() => loadConfig(file, {}, {})).not.toThrow();
    // The probes and services use the ports of the command line.
    const [http, internal] = container?.ports.map(({ containerPort }) => containerPort) ?? [];
    expect(container?.args).toEqual(
      expect.arrayContaining(['--address', `:${http}`, '--internal-address', `:${internal}`]),
    );
  });

  const DNS = [
    { namespaceSelector: { matchLabels: { 'kubernetes.io/metadata.name': 'kube-system' } } },
    { ipBlock: { cidr: '169.254.20.10/32' } },
  ];
  const CLUSTER = { podSelector: { matchLabels: { 'cnpg.io/cluster': 'registry-registry-server-db' } } };
  it.each<[set: string, ...rules: [ports: number[], to?: object[]][]]>([
    ['default', [[5432]], [[443]]],
    ['ha', [[5432], [CLUSTER]], [[443]]],
    ['whole-cluster', [[5432]], [[443, 6443]], [[443]]],
    ['cluster-source', [[5432]], [[443, 6443]], [[443]]],
    [
      'ingress',
      [[5432], [{ ipBlock: { cidr: '10.1.2.0/24' } }]],
      [[3128], [{ ipBlock: { cidr: '10.1.3.4/32' } }]],
    ],
  ])('lets the server reach only DNS, the database and what the values name: %s', (set, ...rules) => {
    const [policy] = rendered(set)('NetworkPolicy');
    expect(policy?.spec.policyTypes).toEqual(['Ingress', 'Egress']);
    const reached = policy?.spec.egress.map(({ ports, to }) => [ports.map(({ port }) => port), to]);
    expect(reached).toEqual([[[53, 53], DNS], ...rules.map(([ports, to]) => [ports, to])]);
  });

  it.each(SETS)('verifies the database: %s', (set) => {
    const [configMap] = rendered(set)('ConfigMap');
    const { database } = parse(configMap?.data['registry.yaml'] ?? '') as { database: object };
    expect(database).toMatchObject({
      sslMode: 'verify-full',
      sslRootCertFile: expect.stringMatching(/ca\.crt$/) as string,
    });
  });

  it.each([
    ['default', 'ClusterRole', []],
    ['ha', 'Role', []],
    ['whole-cluster', 'ClusterRole', [undefined]],
    ['cluster-source', 'Role', ['data', 'later', 'more', 'tools']],
  ])('grants exactly the permissions its sources request from the cluster: %s', (set, kind, namespaces) => {
    const of = rendered(set);
    const roles = of(kind);
    expect(of('Role').length + of('ClusterRole').length).toBe(namespaces.length);
    expect(roles.map(({ metadata }) => metadata.namespace)).toEqual(namespaces);
    const resources = RESOURCES.map(({ plural }) => plural);
    for (const { rules } of roles)
      expect(rules).toEqual([{ apiGroups: [API_GROUP], resources, verbs: ['list', 'watch'] }]);
    const [pod] = of('Deployment').map(({ spec }) => spec.template.spec);
    const bindings = of(`${kind}Binding`);
    expect(bindings.map(({ metadata }) => metadata.namespace)).toEqual(namespaces);
    for (const { subjects, roleRef } of bindings) {
      expect(subjects).toEqual([{ kind: 'ServiceAccount', name: pod?.serviceAccountName, namespace: 'mcp' }]);
      expect(roleRef).toMatchObject({ kind, name: roles[0]?.metadata.name });
    }
    expect(pod?.automountServiceAccountToken).toBe(namespaces.length > 0);
  });
});

it('package.json, the lock file, the chart and the changelog have the same version', () => {
  const { version } = JSON.parse(textOf(ROOT, 'package.json')) as { version: string };
  expect(JSON.parse(textOf(ROOT, 'package-lock.json'))).toMatchObject({ version });
  expect(parse(textOf(CHART, 'Chart.yaml'))).toMatchObject({ version, appVersion: version });
  const released = [...textOf(ROOT, 'CHANGELOG.md').matchAll(/^## \[(\d\S*)\] - \d{4}-\d{2}-\d{2}$/gm)];
  expect(released[0]?.[1]).toBe(version);
});
