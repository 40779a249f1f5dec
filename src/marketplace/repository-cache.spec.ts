import { execFileSync } from 'node:child_process';
import { EventEmitter, once } from 'node:events';
import { existsSync, readdirSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, expect, it, vi } from 'vitest';
import { SHARE_TIMEOUT_MS } from '../limits/shared-reads.js';
import { type CacheLimits, RepositoryCache } from './repository-cache.js';
import type { RepositoryFile } from './marketplace-tree.js';

/** A caller who does not disconnect. */
const WAITING = new AbortController().signal;

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'repository-cache-'));
  vi.stubEnv('TMPDIR', folder);
});
afterAll(async () => {
  vi.unstubAllEnvs();
  await rm(folder, { recursive: true });
});

const caches: RepositoryCache[] = [];
afterEach(async () => {
  vi.useRealTimers();
  for (const cache of caches.splice(0)) await cache.onApplicationShutdown();
});

function aCache(limits: Partial<CacheLimits> = {}): RepositoryCache {
  const cache = new RepositoryCache({
    totalBytes: limits.bytes ?? 1_000,
    bytes: 1_000,
    smallBytes: 0,
    files: 100,
    buildMs: 60_000,
    readMs: 60_000,
    ...limits,
  });
  caches.push(cache);
  return cache;
}

const stored = (path: string, bytes: number, digest = path): RepositoryFile => ({
  path,
  digest,
  bytes,
  executable: false,
});
const text = (path: string, content: string): RepositoryFile => ({ path, executable: false, text: content });

/** A plan whose stored files consist of `x`. */
function plan(key: string, files: RepositoryFile[]) {
  const built = { key, reads: [] as string[], files: async () => files, read };
  async function* read(digest: string): AsyncGenerator<Buffer> {
    built.reads.push(digest);
    const file = files.find((each) => 'digest' in each && each.digest === digest);
    const length = file && 'bytes' in file ? file.bytes : 0;
    yield Buffer.alloc(Math.floor(length / 2), 'x');
    yield Buffer.alloc(Math.ceil(length / 2), 'x');
  }
  return built;
}

const git = (directory: string, ...args: string[]) =>
  execFileSync('git', ['-C', directory, ...args], { encoding: 'utf8' }).trim();
const directories = () => new Set(readdirSync(folder).map((name) => join(folder, name)));
const headOf = (directory: string) => git(directory, 'rev-parse', 'main');

it('writes one commit with exactly the given files, whose ID depends only on them', async () => {
  const files = [
    text('a.json', '{}\n'),
    { ...stored('dir/run.sh', 600), executable: true },
    stored('dir/same', 600, 'dir/run.sh'),
    text('odd "name"\\ü', 'y'),
  ];
  const first = plan('one', files);
  const { directory } = await aCache({ bytes: 10_000 }).lease(first, 'caller', WAITING);
  expect(
    git(directory, '-c', 'core.quotePath=false', 'ls-tree', '-r', '--format=%(objectmode) %(path)', 'main'),
  ).toBe(
    ['100644 a.json', '100755 dir/run.sh', '100644 dir/same', '100644 "odd \\"name\\"\\\\ü"'].join('\n'),
  );
  expect(git(directory, 'cat-file', 'blob', 'main:dir/run.sh')).toBe('x'.repeat(600));
  expect(git(directory, 'rev-list', '--all', '--count')).toBe('1');
  expect(first.reads).toEqual(['dir/run.sh']);
  const other = await aCache({ bytes: 10_000 }).lease(plan('two', files.toReversed()), 'caller', WAITING);
  expect(headOf(other.directory)).toBe(headOf(directory));
});

it('writes a repository once for all callers who ask for it', async () => {
  const cache = aCache();
  const one = plan('one', [stored('a', 10)]);
  const leases = await Promise.all(['x', 'y', 'z'].map((caller) => cache.lease(one, caller, WAITING)));
  await cache.lease(one, 'later', WAITING);
  expect(new Set(leases.map(({ directory }) => directory)).size).toBe(1);
  expect(one.reads).toEqual(['a']);
});

it('stays within the quota by deleting the least recently used repositories without readers', async () => {
  const cache = aCache({ bytes: 1_000 });
  const lease = async (key: string) => cache.lease(plan(key, [stored(key, 400)]), 'caller', WAITING);
  const [one, two] = [await lease('one'), await lease('two')];
  one.release();
  two.release();
  (await lease('one')).release();
  const three = await lease('three');
  expect([one, two, three].map(({ directory }) => existsSync(directory))).toEqual([true, false, true]);
  const again = await lease('one');
  await expect(lease('four')).rejects.toMatchObject({ code: 'overloaded' });
  again.release();
  const four = await lease('four');
  expect([one, three, four].map(({ directory }) => existsSync(directory))).toEqual([false, true, true]);
});

it('deletes a larger repository that clients read slowly, and ends their responses', async () => {
  const cache = aCache({ bytes: 1_000, readMs: 0 });
  const lease = async (key: string, bytes: number) =>
    cache.lease(plan(key, [stored(key, bytes)]), 'caller', WAITING);
  const [large, small] = [await lease('large', 700), await lease('small', 300)];
  await expect(lease('larger', 800)).rejects.toMatchObject({ code: 'overloaded' });
  expect([large, small].map(({ deleted }) => deleted.aborted)).toEqual([false, false]);
  const other = await lease('other', 400);
  expect([large, small, other].map(({ deleted }) => deleted.aborted)).toEqual([true, false, false]);
  expect([large, small, other].map(({ directory }) => existsSync(directory))).toEqual([false, true, true]);
  // The space is counted once.
  large.release();
  await expect(lease('another', 400)).rejects.toMatchObject({ code: 'overloaded' });
  await lease('fits', 300);
});

it('refuses a repository that exceeds a limit, and accepts one at the limit', async () => {
  const cache = aCache({ bytes: 1_000, files: 2 });
  const refused = { code: 'marketplace_too_large' };
  await expect(
    cache.lease(plan('bytes', [stored('a', 999), text('b', 'yy')]), 'c', WAITING),
  ).rejects.toMatchObject(refused);
  const three = ['a', 'b', 'c'].map((path) => text(path, ''));
  await expect(cache.lease(plan('files', three), 'c', WAITING)).rejects.toMatchObject(refused);
  (await cache.lease(plan('fits', [stored('a', 999), text('b', 'y')]), 'c', WAITING)).release();
});

it('leaves nothing behind when writing fails, and tries again', async () => {
  const cache = aCache();
  (await cache.lease(plan('other', [text('a', 'b')]), 'caller', WAITING)).release();
  const before = directories();
  const one = plan('one', [stored('a', 500), stored('b', 499)]);
  const gone = {
    ...one,
    read: (digest: string) => {
      if (digest === 'b') throw new Error('The content was deleted while it was read');
      return one.read(digest);
    },
  };
  await expect(cache.lease(gone, 'caller', WAITING)).rejects.toThrow('deleted while it was read');
  const { directory } = await cache.lease(one, 'caller', WAITING);
  expect(directories()).toEqual(new Set([...before, directory]));
});

it('deletes everything at shutdown', async () => {
  const cache = aCache();
  const { directory } = await cache.lease(plan('one', [text('a', 'b')]), 'caller', WAITING);
  expect(existsSync(join(directory, 'config'))).toBe(true);
  await cache.onApplicationShutdown();
  expect(existsSync(directory)).toBe(false);
});

/** A plan of one file whose build pauses before the file until `go` is called. */
function pausedPlan(key: string, bytes: number) {
  const events = new EventEmitter();
  const begun = once(events, 'begin');
  const resumed = once(events, 'go');
  const built = { ...plan(key, [stored(key, bytes)]), builds: 0, begun, go: () => void events.emit('go') };
  built.read = async function* () {
    built.builds += 1;
    events.emit('begin');
    await resumed;
    yield Buffer.alloc(bytes, 'x');
  };
  return built;
}

it('shares a build until it ends, however long it takes, even after its first caller has left', async () => {
  const cache = aCache();
  const slow = pausedPlan('slow', 10);
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
  const leaving = new AbortController();
  const first = cache.lease(slow, 'first', leaving.signal);
  await slow.begun;
  leaving.abort(new Error('gone'));
  await expect(first).rejects.toThrow('gone');
  vi.advanceTimersByTime(2 * SHARE_TIMEOUT_MS);
  vi.useRealTimers();
  const others = ['first', 'second', 'third'].map((caller) => cache.lease(slow, caller, WAITING));
  slow.go();
  expect(new Set((await Promise.all(others)).map(({ directory }) => directory)).size).toBe(1);
  expect(slow.builds).toBe(1);
});

it('builds small repositories while large ones are built one at a time', async () => {
  const cache = aCache({ smallBytes: 100, totalBytes: 2_600 });
  const [first, second] = [pausedPlan('first', 1_000), pausedPlan('second', 1_000)];
  const large = [first, second].map((one) => cache.lease(one, 'one', WAITING));
  await first.begun;
  const small = await cache.lease(plan('small', [stored('c', 100)]), 'one', WAITING);
  expect(existsSync(join(small.directory, 'HEAD'))).toBe(true);
  expect(second.builds).toBe(0);
  first.go();
  second.go();
  await Promise.all(large);
});

it('builds a repository again when its files are gone, or some of them', async () => {
  const cache = aCache();
  const one = plan('one', [stored('a', 10)]);
  const lease = await cache.lease(one, 'caller', WAITING);
  await rm(lease.directory, { recursive: true });
  const again = await cache.lease(one, 'caller', WAITING);
  expect(headOf(again.directory)).toMatch(/^[0-9a-f]{40}$/);
  const pack = readdirSync(join(again.directory, 'objects/pack')).find((name) => name.endsWith('.pack'));
  await rm(join(again.directory, 'objects/pack', pack ?? ''));
  const { directory } = await cache.lease(one, 'caller', WAITING);
  expect(git(directory, 'cat-file', 'blob', 'main:a')).toBe('x'.repeat(10));
  expect(one.reads).toEqual(['a', 'a', 'a']);
  // The space of the lost repositories is free.
  await cache.lease(plan('other', [stored('b', 990)]), 'caller', WAITING);
});

it('builds again after a failure, such as a missing temporary folder', async () => {
  const cache = aCache();
  const elsewhere = `${folder}-elsewhere`;
  vi.stubEnv('TMPDIR', elsewhere);
  await expect(cache.lease(plan('one', [stored('a', 10)]), 'caller', WAITING)).rejects.toThrow('ENOENT');
  vi.stubEnv('TMPDIR', folder);
  await cache.lease(plan('one', [stored('a', 10)]), 'caller', WAITING);
});
