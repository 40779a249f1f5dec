import { describe, expect, it } from 'vitest';
import { ReadMemory } from '../read-memory.js';
import { type Page, readPage, type UpstreamVersion } from './registry-page.js';
import { RegistryReader } from './registry-reader.js';

const MIB = 1024 * 1024;

/** A page with one new version, counted as this many bytes. */
function pageOf(number: number, bytes: number): Page {
  const server = { name: `io.acme/s${number}`, description: 'd', version: '1.0.0' };
  const text = Buffer.from(JSON.stringify({ servers: [{ server }], metadata: { nextCursor: 'next' } }));
  const versions: UpstreamVersion[] = [];
  const page = readPage(text, 'servers', null, (version) => versions.push({ ...version, bytes }));
  return { ...page, versions };
}

describe('a registry whose list does not end', () => {
  const reader = () => new RegistryReader(null, new ReadMemory().begin());

  it('may have 128 MiB of documents', async () => {
    const endless = reader();
    for (let number = 0; number < 128; number += 1) await endless.addServers(pageOf(number, MIB));
    expect(endless.count).toBe(128);
    await expect(endless.addServers(pageOf(128, 1))).rejects.toThrow(
      'The registry has more than 128 MiB of documents, the maximum',
    );
  });

  it('may have 99 consecutive pages with nothing new', async () => {
    const endless = reader();
    for (let round = 0; round < 2; round += 1) {
      await endless.addServers(pageOf(round, 1));
      for (let page = 0; page < 99; page += 1) await endless.addServers(pageOf(round, 1));
    }
    await expect(endless.addServers(pageOf(1, 1))).rejects.toThrow(/does not end: 100 consecutive pages/);
  });
});
