import { randomBytes } from 'node:crypto';
import { mkdir, mkdtemp } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { GitRemote } from '../../dist/git/git-remote.js';
import { Clock } from '../support/clock.js';
import { connectionTo } from '../support/git-connections.js';
import { aGitServer } from '../support/git-server.js';
import { aFileOf, aGitSource, aTemporaryDirectory } from '../support/git-service.js';
import { watchGitMemory } from '../support/git-memory.js';
import { aService } from '../support/service.js';
import { inSoak } from '../support/soak.js';

const MIB = 1024 * 1024;
const LIMIT_MIB = inSoak(64, 2);
/** Exceeds the limit and must never be held in memory. */
const LARGE_MIB = inSoak(1024, 40);
/** Includes the folder of a sync that the service retries at that moment. */
const leftovers = aTemporaryDirectory();

/** Yields this many bytes by repeating one chunk. */
function* repeated(bytes: number, piece = Buffer.alloc(MIB)): Generator<Buffer> {
  for (let left = bytes; left > 0; left -= piece.length) yield piece.subarray(0, left);
}

function* random(bytes: number): Generator<Buffer> {
  for (let left = bytes; left > 0; left -= MIB) yield randomBytes(Math.min(left, MIB));
}

const git = aGitServer().runs();
const service = aService().configuration({ limits: { mebibytesPerFile: LIMIT_MIB } });
const path = 'catalogue/registry.json';
const large = aGitSource(service, git, 'large', async (repository) => {
  const others = Object.fromEntries(
    Array.from({ length: 8 }, (_, n) => [`data/${n}.bin`, { bytes: 5 * MIB, chunks: random(5 * MIB) }]),
  );
  await repository.commit({ [path]: aFileOf('one') }, { large: others, compression: 0 });
  return { branch: 'main', path };
});
const small = aGitSource(service, git, 'small', async (repository) => {
  await repository.commit({ 'registry.json': aFileOf('stays') });
  return { branch: 'main' };
});
service.runs();

it('a large repository takes little more memory and traffic than its catalog, in the first sync and in later ones', async () => {
  const { repository, synced, names } = large;
  expect(await synced()).toMatchObject({ status: 'complete', error: null });
  await repository.commit({ [path]: aFileOf('one', 'two') }, { keeps: true });
  const memory = watchGitMemory();
  expect((await synced()).counts).toMatchObject({ added: 1 });
  expect(await memory.peakBytes()).toBeLessThan(30 * MIB);
  expect(await names()).toEqual(['one', 'two']);
  expect(git.sentBytes).toBeLessThan(MIB / 4);
});

describe(`a file of ${LARGE_MIB} MiB`, () => {
  const { repository, synced, names } = small;

  it('is refused without being held in memory', async () => {
    await synced();
    const bytes = LARGE_MIB * MIB;
    await repository.commit({}, { large: { 'registry.json': { bytes, chunks: repeated(bytes) } } });
    const memory = watchGitMemory();
    const report = await synced();
    expect(report.error).toMatch(new RegExp(`registry\\.json is larger than ${LIMIT_MIB} MiB, the maximum$`));
    expect(await memory.peakBytes()).toBeLessThan(30 * MIB);
    expect(await names()).toEqual(['stays']);
    await expect.poll(leftovers).toEqual([]);
  });

  it('is refused when it is incompressible', async () => {
    const bytes = (LIMIT_MIB + 2) * MIB;
    await repository.commit(
      {},
      { large: { 'registry.json': { bytes, chunks: random(bytes) } }, compression: 0 },
    );
    expect((await synced()).error).toMatch(`registry.json is larger than ${LIMIT_MIB} MiB`);
    expect(await names()).toEqual(['stays']);
    await expect.poll(leftovers).toEqual([]);
  });
});

describe('the disk', () => {
  it('is not filled by a server that sends complete snapshots only', async () => {
    const repository = git.repository('complete');
    repository.configure('uploadpack.allowFilter', 'false');
    const settings = { repository: git.url('complete'), branch: 'main' };
    const bytes = 8 * MIB;
    const large = { other: { bytes, chunks: random(bytes) } };
    await repository.commit({ 'registry.json': aFileOf('one') }, { large, compression: 0 });
    const signal = new AbortController().signal;
    const remote = await GitRemote.open(await connectionTo(settings, 'config'), signal, {
      diskBytes: 4 * MIB,
    });
    const fetched = remote.fetchCommit(settings);
    await expect(fetched).rejects.toThrow(/: fetching it takes more than 4 MiB of disk space$/);
    await remote.close();
    await expect.poll(leftovers).toEqual([]);
  });

  it('is not filled by the tar of a folder that compresses well', async () => {
    const zeros = git.repository('zeros');
    const bytes = 8 * MIB;
    const commit = await zeros.commit({}, { large: { 'skill/zeros': { bytes, chunks: repeated(bytes) } } });
    const connection = await connectionTo({ repository: git.url('zeros') }, 'config');
    const remote = await GitRemote.open(connection, new AbortController().signal, { diskBytes: 4 * MIB });
    const written = remote.archive(commit, 'skill');
    await expect(written).rejects.toThrow(/: fetching it takes more than 4 MiB of disk space$/);
    await remote.close();
    await expect.poll(leftovers).toEqual([]);
  });
});

describe('files left by a killed server', () => {
  const clock = new Clock().runs();

  it('are removed an hour later, even by a server that was already running', async () => {
    await small.synced();
    const left = await mkdtemp(join(tmpdir(), 'registry-git-'));
    await mkdir(join(left, 'objects'));
    const others = async () => (await leftovers()).includes(basename(left));
    clock.passes(30 * 60_000);
    await small.synced();
    expect(await others()).toBe(true);
    clock.passes(31 * 60_000);
    await small.synced();
    expect(await others()).toBe(false);
  });
});
