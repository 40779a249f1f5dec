import { randomBytes } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { aGitServer } from '../support/git-server.js';
import { aFileOf, aTemporaryDirectory, namesIn, readsGit } from '../support/git-service.js';
import { watchGitMemory } from '../support/git-memory.js';
import { aService } from '../support/service.js';

const MIB = 1024 * 1024;
const leftOvers = aTemporaryDirectory();

/** So many bytes, made of one piece over and over. */
function* repeated(bytes: number, piece = Buffer.alloc(MIB)): Generator<Buffer> {
  for (let left = bytes; left > 0; left -= piece.length) yield piece.subarray(0, left);
}

function* random(bytes: number): Generator<Buffer> {
  for (let left = bytes; left > 0; left -= MIB) yield randomBytes(Math.min(left, MIB));
}

describe('a large repository', () => {
  const git = aGitServer().runs();
  const repository = git.repository('acme');
  const path = 'catalogue/registry.json';
  const service = readsGit(aService(), git, async () => {
    const large = Object.fromEntries(
      Array.from({ length: 40 }, (_, n) => [`data/${n}.bin`, { bytes: 5 * MIB, chunks: random(5 * MIB) }]),
    );
    await repository.commit({ [path]: aFileOf('one') }, { large, compression: 0 });
    return { branch: 'main', path };
  });

  it('costs little more than its catalogue, at first and later', async () => {
    expect(await service.synced('main')).toMatchObject({ status: 'complete', error: null });
    await repository.commit({ [path]: aFileOf('one', 'two') }, { keeps: true });
    const memory = watchGitMemory();
    expect((await service.synced('main')).counts).toMatchObject({ added: 1 });
    expect(await memory.peakBytes()).toBeLessThan(30 * MIB);
    expect(await namesIn(service)).toEqual(['one', 'two']);
    expect(git.sentBytes).toBeLessThan(MIB / 4);
  });
});

describe('a file of 1 GB', () => {
  const git = aGitServer().runs();
  const repository = git.repository('acme');
  const service = readsGit(aService(), git, async () => {
    await repository.commit({ 'registry.json': aFileOf('stays') });
    return { branch: 'main' };
  });

  it('is refused without being held', async () => {
    await service.synced('main');
    const bytes = 1024 * MIB;
    await repository.commit({}, { large: { 'registry.json': { bytes, chunks: repeated(bytes) } } });
    const memory = watchGitMemory();
    const report = await service.synced('main');
    expect(report.error).toMatch(/registry\.json is larger than 64 MiB, the most that is read$/);
    expect(await memory.peakBytes()).toBeLessThan(30 * MIB);
    expect(await namesIn(service)).toEqual(['stays']);
    expect(await leftOvers()).toEqual([]);
  });

  it('is refused while it comes, when it can not be compressed', async () => {
    const bytes = 80 * MIB;
    await repository.commit(
      {},
      { large: { 'registry.json': { bytes, chunks: random(bytes) } }, compression: 0 },
    );
    expect((await service.synced('main')).error).toMatch(/registry\.json is larger than 64 MiB/);
    expect(await namesIn(service)).toEqual(['stays']);
    expect(await leftOvers()).toEqual([]);
  });
});
