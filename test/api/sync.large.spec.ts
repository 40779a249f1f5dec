import { afterAll, describe, expect, it } from 'vitest';
import { JsonSliceError } from '../../dist/json/json-slices.js';
import { ReadMemory, ReadMemoryError } from '../../dist/sync/read-memory.js';
import { type Page, readPage, type UpstreamVersion } from '../../dist/sync/registry-api/registry-page.js';
import { SourceReader } from '../../dist/sync/source-reader.js';
import { aCatalogue, aServer } from '../support/documents.js';
import { collectGarbage } from '../support/garbage.js';
import { versionsIn } from '../support/matchers.js';
import { aService } from '../support/service.js';
import { OFFICIAL } from '../support/upstream-registry.js';

const MIB = 1024 * 1024;

/** Servers that total at least this many bytes. */
function serversOf(prefix: string, bytes: number): object[] {
  const padding = 'y'.repeat(50_000);
  return Array.from({ length: Math.ceil(bytes / padding.length) }, (_, index) =>
    aServer(`io.acme/${prefix}-${index}`, '1.0.0', { padding }),
  );
}

/** A large file's text: these raw elements before valid ones. */
function hostileFile(...elements: string[]): string {
  const good = serversOf('good', 2 * MIB).map((server) => JSON.stringify(server));
  return JSON.stringify(aCatalogue(['HERE'])).replace('"HERE"', [...elements, ...good].join());
}

describe('large files', () => {
  const service = aService()
    .configuration({ limits: { mebibytesPerFile: 3 } })
    .source('one', { servers: serversOf('one', 2 * MIB) })
    .source('two', { servers: serversOf('two', 2 * MIB) })
    .source('three', { servers: [aServer('io.acme/three')] })
    .registry('one', { sources: ['one'] })
    .registry('two', { sources: ['two'] })
    .registry('three', { sources: ['three'] })
    .runs();
  const list = async (registry: string) =>
    versionsIn(await service.get(`/registry/${registry}/v0.1/servers?limit=100`));

  it('are read concurrently, each for its source', async () => {
    expect(await service.synced('one')).toMatchObject({ status: 'complete' });
    expect(await service.synced('two')).toMatchObject({ status: 'complete' });
    expect((await list('one')).every((name) => name.startsWith('io.acme/one-'))).toBe(true);
    expect((await list('two')).every((name) => name.startsWith('io.acme/two-'))).toBe(true);
  });

  it('may be as large as limits.mebibytesPerFile and no larger', async () => {
    await service.rewrite('three', { servers: serversOf('more', 3 * MIB) });
    const refused = await service.synced('three');
    expect(refused.status).toBe('failed');
    expect(refused.error).toMatch(/is larger than 3 MiB, the maximum$/);
    expect(await list('three')).toEqual(['io.acme/three@1.0.0']);
    const servers = serversOf('more', 2.9 * MIB).slice(0, 58);
    await service.rewrite('three', { servers });
    expect(await service.synced('three')).toMatchObject({
      status: 'complete',
      counts: { entries: servers.length },
    });
  });

  it('may contain invalid entries, which are skipped; the others are served', async () => {
    const name = '"name":"io.acme/bad","description":"d","version":"1.0.0"';
    await service.rewrite('one', {
      text: hostileFile(
        `{${name},"deep":${'['.repeat(50_000)}${']'.repeat(50_000)}}`,
        `{${name},"version":"2.0.0"}`,
        `{${name},"__proto__":{"x":1},"toJSON":1,"constructor":{"prototype":1}}`,
        `{"name":"io.acme/long","version":"1.0.0","description":"${'ж'.repeat(200_000)}"}`,
        '9e999',
      ),
    });
    const report = await service.synced('one');
    expect(report.status).toBe('complete');
    expect(report.skipped.map(({ reasons }) => reasons[0])).toEqual([
      expect.stringContaining('levels deep'),
      expect.stringContaining('given twice'),
      expect.stringContaining('characters'),
      expect.stringContaining('must be an object'),
    ]);
    expect(report.counts).toMatchObject({ skipped: 4, entries: 43 });
  });

  it.each([
    ['that is truncated', (text: string) => text.slice(0, -5), /^The file is not valid JSON: the text ends/],
    ['that is not JSON', (text: string) => text.replace('9e99', '9e'), /malformed$/],
    ['that is not text', (text: string) => text.replace('9e99', '\ud800'), /given|malformed|not UTF-8/],
  ])('keep the earlier entries of a file %s', async (_what, spoil, why) => {
    const before = await list('two');
    await service.rewrite('two', { text: spoil(hostileFile('9e99')) });
    const report = await service.synced('two');
    expect(report.status).toBe('failed');
    expect(report.error).toMatch(why);
    expect(await list('two')).toEqual(before);
  });
});

describe('the worker thread that reads a large text', () => {
  const ANY = { format: null, namespace: null, filter: null };
  const text = () => Buffer.from(hostileFile('1'));
  const never = new AbortController().signal;
  /** Shared because starting its thread takes time. */
  const reader = new SourceReader();
  afterAll(() => reader.onApplicationShutdown());

  it('transfers the content and its accounted memory', async () => {
    const memory = new ReadMemory(100 * MIB).begin();
    const bytes = Buffer.from(new Uint8Array(text()).buffer);
    memory.add(bytes.length);
    const { entries, skipped } = await reader.file(bytes, ANY, memory, never);
    expect(skipped).toMatchObject([{ type: 'server', index: 0, name: null }]);
    expect(entries).toHaveLength(42);
    expect(JSON.parse(String(entries[41]?.document))).toMatchObject({ name: 'io.acme/good-41' });
    expect(bytes).toHaveLength(0);
    expect(memory.bytes).toBeGreaterThan(2 * MIB);
    expect(memory.bytes).toBeLessThan(3 * MIB);
  });

  it('ends when its run is aborted, and then reads the next file', async () => {
    // A thread that must start first cannot be done too early.
    const fresh = new SourceReader();
    const [one, other] = [new AbortController(), new AbortController()];
    const share = () => new ReadMemory(100 * MIB).begin();
    const cut = fresh.file(text(), ANY, share(), one.signal);
    const waiting = fresh.file(text(), ANY, share(), other.signal);
    const third = fresh.file(text(), ANY, share(), never);
    other.abort(new Error('waiting'));
    await expect(waiting).rejects.toThrow('waiting');
    one.abort(new Error('running'));
    await expect(cut).rejects.toThrow('running');
    expect((await third).entries).toHaveLength(42);
  });

  it('ends with the service and is started again on demand', async () => {
    // A thread that must start first cannot be done too early.
    const fresh = new SourceReader();
    const share = () => new ReadMemory(100 * MIB).begin();
    const cut = fresh.file(text(), ANY, share(), never);
    cut.catch(() => undefined);
    await new Promise(setImmediate);
    await fresh.onApplicationShutdown();
    await expect(cut).rejects.toThrow('ended before it had done its job');
    expect((await fresh.file(text(), ANY, share(), never)).entries).toHaveLength(42);
    await fresh.onApplicationShutdown();
  });

  it('releases all memory, whenever the run is aborted', async () => {
    const stopping = new AbortController();
    const read = async () => {
      const signal = AbortSignal.any([stopping.signal, new AbortController().signal]);
      const { entries } = await reader.file(text(), ANY, new ReadMemory(100 * MIB).begin(), signal);
      expect(entries).toHaveLength(42);
      return new WeakRef(entries);
    };
    const files = [await read(), await read()];
    await collectGarbage();
    expect(files.map((entries) => entries.deref())).toEqual([undefined, undefined]);
    expect(stopping.signal.aborted).toBe(false);
  });

  // A page of another registry, with many values.
  const pageOf = (count: number) => {
    const keys = (index: number) =>
      Array.from({ length: 5_000 }, (_, key) => [`key-${index}-${key}`, key] as const);
    const servers = Array.from({ length: count }, (_, index) => ({
      server: aServer(`io.acme/s${index}`, '1.0.0', { odd: Object.fromEntries(keys(index)) }),
      _meta: { [OFFICIAL]: { status: 'deprecated', updatedAt: `2026-11-01T00:00:0${index % 10}Z` } },
    }));
    return Buffer.from(JSON.stringify({ servers: [...servers, {}], metadata: { nextCursor: 'c' } }));
  };

  const shown = (page: Page) =>
    page.versions.map(({ checked: { version, ...checked }, ...others }) => ({
      ...{ ...others, ...checked, ...version },
      ...{ document: String(version?.document), digest: String(version?.digest) },
    }));

  it('also reads pages of other registries', async () => {
    const filter = { names: { exclude: ['io.acme/s1'] } };
    const versions: UpstreamVersion[] = [];
    const expected = { ...readPage(pageOf(3), 'servers', filter, (one) => versions.push(one)), versions };
    const bytes = Buffer.from(new Uint8Array(pageOf(3)).buffer);
    const page = await reader.page(bytes, 'servers', filter, never);
    expect({ ...page, versions: shown(page) }).toEqual({ ...expected, versions: shown(expected) });
    expect(page.versions.filter(({ checked }) => checked.version)).toHaveLength(3);
    expect(bytes).toHaveLength(0);
    await expect(reader.page(pageOf(3).subarray(1), 'servers', filter, never)).rejects.toThrow(
      JsonSliceError,
    );
  });

  it('ends when the content takes too much memory', async () => {
    const share = new ReadMemory(1.5 * MIB).begin();
    const reading = reader.file(text(), ANY, share, never);
    await expect(reading).rejects.toThrow(ReadMemoryError);
    expect(share.mustWait).toBe(false);
  });
});
