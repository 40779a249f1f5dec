import { basename } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { CATALOGUES } from '../support/catalogues.js';
import { cursorIn, versionsIn } from '../support/matchers.js';
import { aService } from '../support/service.js';
import { inSoak } from '../support/soak.js';

const LIMITS = inSoak(
  Array.from({ length: 99 }, (_, index) => index + 1),
  [2, 7, 29, 30, 31, 99],
);

interface Named {
  name?: string;
  version?: string;
}

const catalogs = CATALOGUES.toReversed();
const files = catalogs.map(({ path }) => basename(path));
const contents = catalogs.map(({ text }) => text);
const servers = contents.map((text) => (JSON.parse(text) as { data: { servers: Named[] } }).data.servers);

describe(`a registry with the catalogs ${files.join(', ')}`, () => {
  const service = aService().registry('main', { sources: files.map((_, index) => `source-${index}`) });
  contents.forEach((text, index) => service.source(`source-${index}`, { text }));
  service.runs();
  beforeAll(async () => {
    for (const index of files.keys()) await service.synced(`source-${index}`);
  });

  const walk = async (limit: number) => {
    const rows: string[] = [];
    const documents: unknown[] = [];
    for (let cursor: string | undefined = ''; cursor !== undefined;) {
      const page = await service.get(`/registry/main/v0.1/servers?limit=${limit}&cursor=${cursor}`);
      rows.push(...versionsIn(page));
      documents.push(...(page.json as { servers: { server: unknown }[] }).servers.map((item) => item.server));
      cursor = cursorIn(page);
    }
    return { rows, documents };
  };

  it('serves or reports every entry', async () => {
    for (const [index, list] of servers.entries()) {
      const { sync } = (await service.get(`/v1/sources/source-${index}`)).json as {
        sync: { counts: Record<string, number>; skipped: { type: string; reasons: string[] }[] };
      };
      const skipped = sync.skipped.filter((entry) => entry.type === 'server');
      const [stored] = await service.database.query<{ count: number }>(
        `select count(*)::int as count from entry_version v join entry e on e.id = v.entry_id
         join source s on s.id = e.source_id where s.name = $1 and e.type = 'server'`,
        [`source-${index}`],
      );
      expect((stored?.count ?? 0) + skipped.length).toBe(list.length);
      for (const entry of skipped) expect(entry.reasons.length).toBeGreaterThan(0);
      console.log(`${files[index]}: ${stored?.count} served, ${skipped.length} skipped`);
    }
  });

  it('returns each document deep-equal to the one in its file', async () => {
    const { documents } = await walk(100);
    const inFiles = servers.flat();
    for (const document of documents as Named[]) {
      const same = inFiles.filter(
        (other) => other.name === document.name && other.version === document.version,
      );
      expect(same).toContainEqual(document);
    }
  });

  it('returns each version exactly once and in order, at limits from 1 to 100', async () => {
    const { rows } = await walk(100);
    expect(new Set(rows).size).toBe(rows.length);
    const names = rows.map((row) => row.split('@', 1)[0] ?? '');
    expect(names).toEqual(
      [...names].sort((one, other) => Buffer.compare(Buffer.from(one), Buffer.from(other))),
    );
    for (const limit of LIMITS) expect((await walk(limit)).rows).toEqual(rows);
  });
});
