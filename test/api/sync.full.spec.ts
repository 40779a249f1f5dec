import { beforeAll, describe, expect, it } from 'vitest';
import { exported, listed, syncOf, watching } from '../support/cluster-objects.js';
import { aServer, aSkill } from '../support/documents.js';
import { aCluster } from '../support/kubernetes-api.js';
import { versionsIn } from '../support/matchers.js';
import { aName } from '../support/publishing.js';
import { aService, type SourceReport } from '../support/service.js';
import { anUpstreamRegistry } from '../support/upstream-registry.js';
import { within } from '../support/within.js';

const LIMITS = { versionsPerEntry: 3 };
const A_WHILE = 15_000;
const OLD = { updatedAt: '2026-01-01T00:00:00Z' };
const MIRRORED = aName();

const upstream = anUpstreamRegistry().runs();
const cluster = aCluster().runs();
const service = watching(cluster, aService())
  .source('file', { servers: [aServer('io.acme/other')] })
  .source('cluster', { kind: 'kubernetes' })
  .registry('main', { sources: ['file', 'api', 'cluster'] })
  .configuration({ limits: LIMITS });
beforeAll(() => {
  upstream.put(servers(MIRRORED, 1, 2, 3), OLD);
  service.source('api', { kind: 'api', settings: { endpoint: upstream.url } });
});
service.runs();

const servers = (name: string, ...majors: number[]) => majors.map((major) => aServer(name, `${major}.0.0`));
const shown = async (name: string) =>
  versionsIn(await service.get(`/registry/main/v0.1/servers/${encodeURIComponent(name)}/versions`)).map(
    (version) => version.split('@')[1],
  );
const skipped = ({ skipped }: SourceReport) => skipped.map(({ version }) => version).sort();

const restartWith = (limits: object) => service.restart((edited) => edited.configuration({ limits }));

const PUBLISHER = 'io.modelcontextprotocol.registry/publisher-provided';
const withBlock = (name: string, kibibytes: number) =>
  aServer(name, '1.0.0', { _meta: { [PUBLISHER]: { text: 'x'.repeat(kibibytes * 1024) } } });

it('a version whose publisher block is longer than 256 KiB is skipped with the reason; a shorter one is stored', async () => {
  const [name, long] = [aName(), aName()];
  await service.rewrite('file', { servers: [withBlock(name, 250), withBlock(long, 256)] });
  const { skipped } = await service.synced('file');
  expect(skipped).toMatchObject([
    { name: long, reasons: [expect.stringContaining('at most 262144 are allowed (limits.publisherMeta)')] },
  ]);
  expect(await shown(name)).toEqual(['1.0.0']);
});

describe('an entry of a file with more versions than limits.versionsPerEntry', () => {
  it('has its newest versions, and the others are skipped with the reason', async () => {
    const name = aName();
    await service.rewrite('file', { servers: [...servers(name, 1, 2, 3, 4, 5), aServer('io.acme/other')] });
    const report = await service.synced('file');
    expect(await shown(name)).toEqual(['5.0.0', '4.0.0', '3.0.0']);
    expect(await shown('io.acme/other')).toEqual(['1.0.0']);
    expect(report).toMatchObject({ status: 'complete', counts: { entries: 4, skipped: 2 } });
    expect(report.skipped).toEqual(
      ['2.0.0', '1.0.0'].map((version) => ({
        type: 'server',
        name,
        version,
        reasons: [
          'entry_full: the entry would have more than 3 versions (limits.versionsPerEntry), so only the newest are stored',
        ],
      })),
    );
  });

  it('makes room for newer versions, including those of skills', async () => {
    const name = aName();
    const skills = (...majors: number[]) => majors.map((major) => aSkill(name, `${major}.0.0`));
    await service.rewrite('file', { servers: servers(name, 1, 2, 3), skills: skills(1, 2, 3) });
    expect(skipped(await service.synced('file'))).toEqual([]);
    await service.rewrite('file', { servers: servers(name, 1, 2, 3, 4), skills: skills(1, 2, 3, 4) });
    expect(skipped(await service.synced('file'))).toEqual(['1.0.0', '1.0.0']);
    expect(await shown(name)).toEqual(['4.0.0', '3.0.0', '2.0.0']);
  });
});

describe('an incremental sync of another registry', () => {
  it('stores the newest versions, and lists the others until upstream removes them', async () => {
    const name = MIRRORED;
    expect(await service.synced('api')).toMatchObject({
      status: 'complete',
      counts: { entries: 3, skipped: 0 },
    });
    upstream.put(servers(name, 1), { ...OLD, isLatest: false }).pages();
    upstream.put(servers(name, 4, 5));
    const report = await service.synced('api');
    expect(upstream.pages().every(({ query }) => query.has('updated_since'))).toBe(true);
    expect(skipped(report)).toEqual(['1.0.0', '2.0.0']);
    expect(report.counts).toMatchObject({ added: 2, removed: 2, entries: 3, skipped: 2 });
    expect(await shown(name)).toEqual(['5.0.0', '4.0.0', '3.0.0']);
    // An old version that changes stays out, and is listed once.
    upstream.put([aServer(name, '1.0.0', { title: 'Changed' })], { isLatest: false });
    const again = await service.synced('api');
    expect(skipped(again)).toEqual(['1.0.0', '2.0.0']);
    expect(again.counts).toMatchObject({ added: 0, removed: 0, entries: 3, skipped: 2 });
    expect(await shown(name)).toEqual(['5.0.0', '4.0.0', '3.0.0']);
  });
});

it('stored versions stay when the limits are lowered, and others are stored when they are raised', async () => {
  const [name, kept, long] = [aName(), aName(), aName()];
  const blocks = [withBlock(kept, 100), withBlock(long, 300)];
  await service.rewrite('file', { servers: [...servers(name, 1, 2, 3, 4), ...blocks], skills: [] });
  expect(skipped(await service.synced('file'))).toEqual(['1.0.0', '1.0.0']);
  await restartWith({ versionsPerEntry: 2, publisherMeta: '64KiB' });
  expect(skipped(await service.synced('file'))).toEqual(['1.0.0', '1.0.0']);
  expect(await shown(name)).toEqual(['4.0.0', '3.0.0', '2.0.0']);
  blocks.push(withBlock(aName(), 100));
  await service.rewrite('file', { servers: [...servers(name, 1, 2, 3, 4, 5), ...blocks] });
  expect(skipped(await service.synced('file'))).toEqual(['1.0.0', '1.0.0', '1.0.0', '2.0.0']);
  expect(await shown(name)).toEqual(['5.0.0', '4.0.0', '3.0.0']);
  expect(await shown(kept)).toEqual(['1.0.0']);
  await restartWith({ versionsPerEntry: 4, publisherMeta: '512KiB' });
  expect(skipped(await service.synced('file'))).toEqual(['1.0.0']);
  expect(await shown(name)).toEqual(['5.0.0', '4.0.0', '3.0.0', '2.0.0']);
  expect(await shown(long)).toEqual(['1.0.0']);
});

describe('limits.bytesPerEntry', () => {
  beforeAll(() => restartWith({ ...LIMITS, bytesPerEntry: '1KiB' }));

  it('keeps the newest versions of an entry in a file', async () => {
    const name = aName();
    const long = { _meta: { filler: 'é'.repeat(120) } };
    const documents = [1, 2, 3].map((major) => aServer(name, `${major}.0.0`, long));
    await service.rewrite('file', { servers: documents, skills: [] });
    const report = await service.synced('file');
    expect(skipped(report)).toEqual(['1.0.0']);
    expect(report.skipped[0]?.reasons[0]).toContain(
      'more than 1024 bytes of documents (limits.bytesPerEntry)',
    );
    expect(await shown(name)).toEqual(['3.0.0', '2.0.0']);
  });

  it('skips an object of a cluster until it is shorter', async () => {
    const long = exported('long', {
      'registry-title': 'x'.repeat(90),
      'registry-description': 'y'.repeat(90),
    });
    cluster.put('MCPServer', 'tools/short', exported('short'));
    cluster.put('MCPServer', 'tools/long', {
      ...long,
      'registry-url': `https://mcp.example.com/${'z'.repeat(1_500)}`,
    });
    const sync = async () => await syncOf(service, 'cluster');
    await within(A_WHILE, async () =>
      expect(await sync()).toMatchObject({
        status: 'complete',
        counts: { entries: 1, skipped: 1 },
        skipped: [
          { name: 'com.toolhive.k8s.tools/long', reasons: [expect.stringContaining('limits.bytesPerEntry')] },
        ],
      }),
    );
    // Writing another object keeps it listed.
    cluster.put('MCPServer', 'tools/third', exported('third'));
    await within(A_WHILE, async () =>
      expect((await sync()).counts).toMatchObject({ entries: 2, skipped: 1 }),
    );
    cluster.put('MCPServer', 'tools/long', exported('long'));
    await within(A_WHILE, async () =>
      expect((await sync()).counts).toMatchObject({ entries: 3, skipped: 0 }),
    );
    expect((await listed(service)).filter((name) => name.startsWith('tools/'))).toHaveLength(3);
  });
});
