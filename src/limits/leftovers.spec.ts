import { existsSync } from 'node:fs';
import { mkdtemp, rename, rm, utimes, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it, vi } from 'vitest';
import { createTemporary, removeLeftovers } from './leftovers.js';

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'leftovers-'));
  vi.stubEnv('TMPDIR', folder);
});
afterAll(async () => {
  vi.unstubAllEnvs();
  await rm(folder, { recursive: true });
});

/** Renames a directory as if the process had been started at another time or on another host. */
async function madeBy(directory: string, from: RegExp, to: string): Promise<string> {
  const renamed = directory.replace(from, to);
  await rename(directory, renamed);
  return renamed;
}

it('removes the directories of a crashed predecessor immediately, and others when they are unchanged', async () => {
  const own = await createTemporary('test-');
  const predecessors = await madeBy(await createTemporary('test-'), /-\w+-(\w{6})$/, '-0-$1');
  const others = await madeBy(await createTemporary('test-'), /test-\w+-/, 'test-abcdefabcdef-');
  const unchanged = await madeBy(await createTemporary('test-'), /test-\w+-/, 'test-fedcbafedcba-');
  const unrelated = await mkdtemp(join(folder, 'unrelated-'));
  await writeFile(join(predecessors, 'file'), '');
  const longAgo = new Date(Date.now() - 120_000);
  for (const directory of [unchanged, unrelated]) await utimes(directory, longAgo, longAgo);
  await removeLeftovers('test-', 60_000);
  expect([own, predecessors, others, unchanged, unrelated].map((each) => existsSync(each))).toEqual([
    true,
    false,
    true,
    false,
    true,
  ]);
});
