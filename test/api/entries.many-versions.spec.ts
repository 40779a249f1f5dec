import { createHash } from 'node:crypto';
import { beforeAll, describe, expect, it } from 'vitest';
import { outcomeOf } from '../support/answers.js';
import { aServer, type Document } from '../support/documents.js';
import { expectRefused } from '../support/matchers.js';
import { consumerAt, entryAt } from '../support/publishing.js';
import { aService } from '../support/service.js';
import { inSoak } from '../support/soak.js';

const MIB = 1_024 * 1_024;
/** More than the default of `limits.versionsPerEntry`. */
const VERSIONS = inSoak(2_000, 1_010);
/** A hundred of these documents exceed a page. */
const FILLER = { _meta: { filler: 'x'.repeat(12_000) } };
const SYNCED = 'io.acme/synced';
const PUBLISHED = 'io.acme/published';

type Page = Record<'servers' | 'entries' | 'versions', Document[]> & { metadata: { nextCursor?: string } };

describe(`with limits.versionsPerEntry raised to ${VERSIONS}`, () => {
  const service = aService()
    .configuration({ limits: { versionsPerEntry: VERSIONS } })
    .source('synced', {
      servers: Array.from({ length: VERSIONS }, (_, index) => aServer(SYNCED, `1.${index}.0`, FILLER)),
    })
    .source('managed', { kind: 'managed' })
    .registry('main', { sources: ['synced', 'managed'] })
    .runs();

  // Publishing each of them would take too long.
  beforeAll(async () => {
    const [before, after] = JSON.stringify(aServer(PUBLISHED, '1.1.0', FILLER)).split('"1.1.0"');
    expect((await service.post('/v1/entries', { server: aServer(PUBLISHED, '1.0.0', FILLER) })).status).toBe(
      201,
    );
    await service.database.query(
      `insert into entry_version (entry_id, version, version_key, document, digest, status, status_changed_at,
         published_at, updated_at, is_latest, search)
       select e.id, '1.' || n || '.0', '2' || to_char(n, '0000'), $2 || '"1.' || n || '.0"' || $3, $4, 'active', now(),
         now(), now(), false, 'x'
       from entry e, generate_series(1, $5::int - 1) n where e.name = $1`,
      [PUBLISHED, before, after, createHash('sha256').update('').digest(), VERSIONS],
    );
  });

  /** Reads a list to its end. */
  async function pages(path: string, member: 'servers' | 'entries'): Promise<Document[]> {
    const items: Document[] = [];
    for (let query = '?limit=100'; ;) {
      const reply = await service.get(path + query);
      expect(reply.status).toBe(200);
      expect(reply.bytes.length).toBeLessThanOrEqual(1.1 * MIB);
      const page = reply.json as Page;
      items.push(...page[member]);
      if (page.metadata.nextCursor === undefined) return items;
      expect(page[member].length).toBeLessThan(100);
      query = `?cursor=${page.metadata.nextCursor}`;
    }
  }

  it.each([SYNCED, PUBLISHED])('pages of the versions of %s end at 1 MiB', async (name) => {
    const versions = await pages(consumerAt('server', name, '/versions'), 'servers');
    expect(new Set(versions.map((item) => (item['server'] as Document)['version'])).size).toBe(VERSIONS);
  });

  it.each([SYNCED, PUBLISHED])('each version of %s is found by name', async (name) => {
    for (const version of ['1.0.0', '1.1000.0', `1.${VERSIONS - 1}.0`])
      expect(await service.get(consumerAt('server', name, `/versions/${version}`))).toMatchObject({
        status: 200,
        json: { server: { version } },
      });
    expect((await service.get(consumerAt('server', name, `/versions/1.${VERSIONS}.0`))).status).toBe(404);
    expect((await service.get(consumerAt('server', name, '/versions/latest'))).bytes.length).toBeLessThan(
      20_000,
    );
  });

  it('admin lists show the versions without documents, within 1 MiB', async () => {
    for (const path of [
      '/v1/sources/synced/entries',
      '/v1/sources/managed/entries',
      '/v1/registries/main/entries',
    ])
      for (const { versions } of await pages(path, 'entries')) expect(versions).toHaveLength(VERSIONS);
    const reply = await service.get(entryAt('server', PUBLISHED));
    expect((reply.json as Page).versions).toHaveLength(VERSIONS);
    expect(reply.bytes.length).toBeLessThan(MIB);
  });

  it('a further version is refused, but can replace a deleted one', async () => {
    const publish = () => service.post('/v1/entries', { server: aServer(PUBLISHED, '2.0.0') });
    expectRefused(await publish(), 409, 'entry_full');
    expect(outcomeOf(await service.delete(entryAt('server', PUBLISHED, '/versions/1.0.0')))).toBe('204');
    expect(outcomeOf(await publish())).toBe('201');
  });
});
