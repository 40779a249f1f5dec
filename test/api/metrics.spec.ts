import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { Cli } from '../support/cli.js';
import { exported, listed, watching } from '../support/cluster-objects.js';
import { aServer } from '../support/documents.js';
import { figuresIn } from '../support/figures.js';
import { freePort } from '../support/free-port.js';
import { call } from '../support/http.js';
import { aCluster } from '../support/kubernetes-api.js';
import { expectRefused } from '../support/matchers.js';
import { aService } from '../support/service.js';
import { within } from '../support/within.js';

describe('service metrics', () => {
  const cluster = aCluster().runs();
  const service = watching(cluster, aService())
    .source('tools', { servers: [aServer('io.acme/a')], claims: { org: 'claimed-org' } })
    .source('cluster', { kind: 'kubernetes' })
    .source('managed', { kind: 'managed' })
    .registry('main', { sources: ['cluster'] })
    .runs();
  const ask = (method = 'GET') => call(`${service.internalOrigin}/metrics`, { method });
  const figures = async () => figuresIn(await ask());
  /** A scrape omits source metrics that the database does not return within a second. */
  const sourceFigures = async () => {
    let found = new Map<string, number>();
    await within(20_000, async () => {
      found = await figures();
      expect(found.has(`registry_source_entries{source="tools",kind="file"}`)).toBe(true);
    });
    return found;
  };
  /** Returns a function that computes the growth of these series. */
  const growth = async (series: string[], happens: () => Promise<unknown>) => {
    const before = await figures();
    await happens();
    return async () => {
      const after = await figures();
      return series.map((name) => (after.get(name) ?? NaN) - (before.get(name) ?? NaN));
    };
  };
  const runs = (outcome: string) => `registry_sync_runs_total{kind="file",outcome="${outcome}"}`;
  const entries = (change: string, kind = 'file') =>
    `registry_sync_entries_total{kind="${kind}",change="${change}"}`;
  const changes = ['added', 'changed', 'removed', 'skipped'];

  it('are served read-only on the internal port in Prometheus format', async () => {
    const reply = await ask();
    expect(reply.status).toBe(200);
    expect(reply.headers['content-type']).toBe('text/plain; version=0.0.4; charset=utf-8');
    expect(reply.text).toMatch(/^# HELP /);
    expect(reply.text).toMatch(/^# TYPE registry_sync_runs_total counter$/m);
    expect(reply.text).toMatch(/\n$/);
    const head = await ask('HEAD');
    expect({ status: head.status, text: head.text }).toEqual({ status: 200, text: '' });
    expect((await ask('POST')).status).toBe(404);
  });

  it('are not served on the public port', async () => {
    expectRefused(await service.get('/metrics'), 404, 'route_not_found');
  });

  it('count entries added, changed, removed and skipped by a sync, and its duration', async () => {
    await service.rewrite('tools', { servers: [aServer('io.acme/a'), aServer('io.acme/b')] });
    await service.synced('tools');
    const grown = await growth(
      [runs('complete'), runs('failed'), ...changes.map((change) => entries(change))],
      async () => {
        const changed = { ...aServer('io.acme/b'), description: 'Changed' };
        const added = ['c', 'd', 'e'].map((name) => aServer(`io.acme/${name}`));
        await service.rewrite('tools', { servers: [changed, ...added, { name: 'no server' }] });
        await service.synced('tools');
      },
    );
    await expect.poll(grown).toEqual([1, 0, 3, 1, 1, 1]);
    const found = await sourceFigures();
    const duration = `registry_sync_duration_seconds_count{kind="file",outcome="complete"}`;
    expect(found.get(duration)).toBe(found.get(runs('complete')));
    expect(found.get(`registry_source_entries{source="tools",kind="file"}`)).toBe(4);
    expect(found.get(`registry_source_skipped_entries{source="tools",kind="file"}`)).toBe(1);
    expect(found.get(`registry_source_interval_seconds{source="tools",kind="file"}`)).toBe(3_600);
  });

  it('count unchanged runs, failed runs and consecutive failures', async () => {
    const grown = await growth([runs('unchanged'), runs('complete')], () => service.synced('tools'));
    const hasGrown = async () => (await grown()).map((runs) => runs > 0);
    // The previous test's change to the file may cause another run.
    await expect.poll(hasGrown).toEqual([true, false]);
    const before = await sourceFigures();
    const success = `registry_source_last_success_timestamp_seconds{source="tools",kind="file"}`;
    await service.rewrite('tools', { text: '{' });
    const { attempts } = await service.synced('tools');
    await expect
      .poll(async () => ((await figures()).get(runs('failed')) ?? 0) > (before.get(runs('failed')) ?? 0))
      .toBe(true);
    const after = await sourceFigures();
    expect(after.get(`registry_source_failures{source="tools",kind="file"}`)).toBeGreaterThanOrEqual(
      attempts,
    );
    // Another run may have begun.
    await expect
      .poll(async () => (await sourceFigures()).get(`registry_sources{kind="file",status="failed"}`))
      .toBe(1);
    await service.synced('tools');
    expect((await sourceFigures()).get(success)).toBe(after.get(success));
    await service.rewrite('tools', { servers: [aServer('io.acme/a')] });
    await service.synced('tools');
    const mended = await sourceFigures();
    expect(mended.get(`registry_source_failures{source="tools",kind="file"}`)).toBe(0);
    expect(mended.get(success)).toBeGreaterThan(after.get(success) ?? NaN);
    expect([...mended.keys()].filter((series) => /^registry_sources{.*status="failed"/.test(series))).toEqual(
      [],
    );
  });

  it('count entries written from a cluster', async () => {
    const grown = await growth(
      changes.map((change) => entries(change, 'kubernetes')),
      async () => {
        cluster.put('MCPServer', 'tools/weather', exported('weather'));
        cluster.put('MCPServer', 'tools/broken', exported('broken', { 'registry-url': 'nowhere' }));
        await expect.poll(() => listed(service)).toEqual(['tools/weather@1.0.0']);
      },
    );
    await expect.poll(grown).toEqual([1, 0, 0, 1]);
    const gone = await growth([entries('removed', 'kubernetes')], async () =>
      cluster.delete('MCPServer', 'tools/weather'),
    );
    await expect.poll(gone).toEqual([1]);
  });

  it('drop the series of a removed source, and have only the admission metrics for a managed source', async () => {
    const api = { endpoint: 'http://127.0.0.1:9/secret-path' };
    const made = await service.put('/v1/sources/doomed', { api, syncPolicy: { interval: '1h' } });
    expect(made.status).toBe(201);
    const of = async (source: string) =>
      [...(await sourceFigures()).keys()].filter((series) => series.includes(`source="${source}"`));
    await service.synced('doomed');
    expect(await of('doomed')).toContain(`registry_source_failures{source="doomed",kind="api"}`);
    expect((await service.delete('/v1/sources/doomed')).status).toBe(204);
    expect(await of('doomed')).toEqual([]);
    expect((await of('managed')).map((series) => series.split('{')[0])).toEqual([
      'registry_admission_held_items',
      'registry_admission_due_items',
      'registry_admission_oldest_age_seconds',
    ]);
    expect(await of('tools')).not.toEqual([]);
  });

  it('have only these labels: no addresses, entries or claims', async () => {
    const ofSyncs = [...(await figures()).keys()].filter((series) => /^registry_(sync|source)/.test(series));
    const labels = ofSyncs.flatMap((series) =>
      [...series.matchAll(/(\w+)="([^"]*)"/g)]
        .filter(([, label]) => label !== 'le')
        .map(([, , value]) => value),
    );
    const known =
      /^(file|git|api|kubernetes|tools|cluster|complete|unchanged|failed|superseded|cut_off|syncing|pending|added|changed|removed|skipped)$/;
    expect(labels.filter((value) => !known.test(String(value)))).toEqual([]);
    expect((await ask()).text).not.toMatch(/127\.0\.0\.1|io\.acme|claimed-org/);
  });

  it('are served without source metrics while the database is down', async () => {
    await service.database.query('begin');
    await service.database.query('lock table source_sync in access exclusive mode');
    const without = await figures();
    await service.database.query('rollback');
    const ofSources = (found: Map<string, number>) =>
      [...found.keys()].filter((series) => series.startsWith('registry_source'));
    expect(ofSources(without)).toEqual([]);
    expect(without.has(runs('complete'))).toBe(true);
    await expect.poll(async () => ofSources(await figures())).not.toEqual([]);
  });
});

describe('process metrics', () => {
  it('are served before the database is reachable', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'registry-metrics-'));
    const [internalPort, nowhere] = [await freePort(), await freePort()];
    const config = join(folder, 'registry.yaml');
    const database = { host: '127.0.0.1', port: nowhere, user: 'registry', database: 'registry' };
    await writeFile(
      config,
      JSON.stringify({ auth: { mode: 'anonymous' }, sources: [], registries: [], database }),
    );
    const addresses = ['--address', '127.0.0.1:0', '--internal-address', `127.0.0.1:${internalPort}`];
    const cli = new Cli(['serve', '--config', config, ...addresses]);
    const ask = () => call(`http://127.0.0.1:${internalPort}/metrics`);
    await expect
      .poll(() =>
        ask().then(
          ({ status }) => status,
          () => 0,
        ),
      )
      .toBe(200);
    const reply = await ask();
    for (const name of ['nodejs_eventloop_lag_p99_seconds', 'process_resident_memory_bytes'])
      expect(figuresIn(reply).get(name)).toBeGreaterThan(0);
    expect(reply.text).toContain('# TYPE nodejs_gc_duration_seconds histogram');
    cli.child.kill('SIGKILL');
    await cli.finished;
    await rm(folder, { recursive: true });
  });
});
