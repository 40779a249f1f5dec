import { execFileSync } from 'node:child_process';
import { existsSync, readdirSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { afterEach, expect, it } from 'vitest';
import { type CacheLimits, RepositoryCache } from './repository-cache.js';
import type { TreeFile } from './plugin-tree.js';

const caches: RepositoryCache[] = [];
afterEach(async () => {
  for (const cache of caches.splice(0)) await cache.onApplicationShutdown();
});

function aCache(limits: Partial<CacheLimits> = {}): RepositoryCache {
  const cache = new RepositoryCache({ bytes: 1_000, files: 100, buildMs: 60_000, readMs: 60_000, ...limits });
  caches.push(cache);
  return cache;
}

const stored = (path: string, bytes: number, digest = path): TreeFile => ({
  path,
  digest,
  bytes,
  executable: false,
});
const text = (path: string, content: string): TreeFile => ({ path, executable: false, text: content });

/** A plan whose stored files consist of `x`. */
function plan(key: string, files: TreeFile[]) {
  const built = { key, reads: [] as string[], files: async () => files, read };
  async function* read(digest: string): AsyncGenerator<Buffer> {
    built.reads.push(digest);
    const file = files.find((each) => 'digest' in each && each.digest === digest);
    const bytes = file && 'bytes' in file ? file.bytes : 0;
    yield Buffer.alloc(Math.floor(bytes / 2), 'x');
    yield Buffer.alloc(Math.ceil(bytes / 2), 'x');
  }
  return built;
}

const git = (directory: string, ...args: string[]) =>
  execFileSync('git', ['-C', directory, ...args], { encoding: 'utf8' }).trim();
const headOf = (directory: string) => git(directory, 'rev-parse', 'main');

it('writes one commit with exactly the files, whose id depends on them alone', async () => {
  const files = [
    text('a.json', '{}\n'),
    { ...stored('dir/run.sh', 600), executable: true },
    stored('dir/same', 600, 'dir/run.sh'),
    text('odd "name"\\ü', 'y'),
  ];
  const first = plan('one', files);
  const { directory } = await aCache({ bytes: 10_000 }).lease(first, 'caller');
  expect(
    git(directory, '-c', 'core.quotePath=false', 'ls-tree', '-r', '--format=%(objectmode) %(path)', 'main'),
  ).toBe(
    ['100644 a.json', '100755 dir/run.sh', '100644 dir/same', '100644 "odd \\"name\\"\\\\ü"'].join('\n'),
  );
  expect(git(directory, 'cat-file', 'blob', 'main:dir/run.sh')).toBe('x'.repeat(600));
  expect(git(directory, 'rev-list', '--all', '--count')).toBe('1');
  expect(first.reads).toEqual(['dir/run.sh']);
  const other = await aCache({ bytes: 10_000 }).lease(plan('two', files.toReversed()), 'caller');
  expect(headOf(other.directory)).toBe(headOf(directory));
});

it('writes a repository once for all who ask for it', async () => {
  const cache = aCache();
  const one = plan('one', [stored('a', 10)]);
  const leases = await Promise.all(['x', 'y', 'z'].map((caller) => cache.lease(one, caller)));
  await cache.lease(one, 'later');
  expect(new Set(leases.map(({ directory }) => directory)).size).toBe(1);
  expect(one.reads).toEqual(['a']);
});

it('deletes the least recently used repositories that nobody reads to stay within the quota', async () => {
  const cache = aCache({ bytes: 1_000 });
  const lease = async (key: string) => cache.lease(plan(key, [stored(key, 400)]), 'caller');
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

it('deletes a larger repository that clients read slowly, and ends their answers', async () => {
  const cache = aCache({ bytes: 1_000, readMs: 0 });
  const lease = async (key: string, bytes: number) => cache.lease(plan(key, [stored(key, bytes)]), 'caller');
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
  await expect(cache.lease(plan('bytes', [stored('a', 999), text('b', 'yy')]), 'c')).rejects.toMatchObject(
    refused,
  );
  const three = ['a', 'b', 'c'].map((path) => text(path, ''));
  await expect(cache.lease(plan('files', three), 'c')).rejects.toMatchObject(refused);
  (await cache.lease(plan('fits', [stored('a', 999), text('b', 'y')]), 'c')).release();
});

it('leaves nothing behind when writing fails, and tries again', async () => {
  const cache = aCache();
  (await cache.lease(plan('other', [text('a', 'b')]), 'caller')).release();
  const one = plan('one', [stored('a', 500), stored('b', 499)]);
  const gone = {
    ...one,
    read: (digest: string) => {
      if (digest === 'b') throw new Error('The content was deleted while it was read');
      return one.read(digest);
    },
  };
  await expect(cache.lease(gone, 'caller')).rejects.toThrow('deleted while it was read');
  const { directory } = await cache.lease(one, 'caller');
  expect(readdirSync(dirname(directory)).filter((name) => name.startsWith('new-'))).toEqual([]);
});

it('deletes everything at shutdown', async () => {
  const cache = aCache();
  const { directory } = await cache.lease(plan('one', [text('a', 'b')]), 'caller');
  expect(existsSync(join(directory, 'config'))).toBe(true);
  await cache.onApplicationShutdown();
  expect(existsSync(dirname(directory))).toBe(false);
});
