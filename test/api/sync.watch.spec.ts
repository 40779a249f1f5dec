import { mkdtempSync, mkdirSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { aCatalogue, aServer } from '../support/documents.js';
import { versionsIn } from '../support/matchers.js';
import { aService } from '../support/service.js';

const folder = mkdtempSync(join(tmpdir(), 'registry-watch-'));
const catalogue = (version: string) => JSON.stringify(aCatalogue([aServer('io.acme/a', version)], []));
const generation = (name: string, version: string) => {
  mkdirSync(join(folder, name));
  writeFileSync(join(folder, name, 'catalogue.json'), catalogue(version));
  return name;
};

describe('a file that changes while its interval is an hour', () => {
  // Lays out a ConfigMap as the kubelet does: the file is a symlink through a directory that is swapped
  // atomically.
  symlinkSync(generation('..first', '1.0.0'), join(folder, '..data'));
  symlinkSync(join('..data', 'catalogue.json'), join(folder, 'catalogue.json'));
  const service = aService()
    .source('mounted', { settings: { path: join(folder, 'catalogue.json') }, missing: true })
    .source('plain', { servers: [aServer('io.acme/b', '1.0.0')] })
    .registry('main', { sources: ['mounted', 'plain'] })
    .runs();
  afterAll(() => rmSync(folder, { recursive: true }));
  const list = async () => versionsIn(await service.get('/registry/main/v0.1/servers'));

  /** Milliseconds until the list equals `expected`. */
  async function shows(expected: string[]): Promise<number> {
    const started = Date.now();
    await expect.poll(list, { interval: 20 }).toEqual(expected);
    return Date.now() - started;
  }

  it('is noticed when it is replaced by a rename', async () => {
    await shows(['io.acme/a@1.0.0', 'io.acme/b@1.0.0']);
    await service.rewrite('plain', { servers: [aServer('io.acme/b', '1.1.0')] });
    await shows(['io.acme/a@1.0.0', 'io.acme/b@1.1.0']);
  });

  it('is noticed when the symlinks of a ConfigMap are swapped', async () => {
    symlinkSync(generation('..second', '2.0.0'), join(folder, '..data_tmp'));
    renameSync(join(folder, '..data_tmp'), join(folder, '..data'));
    await shows(['io.acme/a@2.0.0', 'io.acme/b@1.1.0']);
  });
});
