import { beforeAll, describe, expect, it } from 'vitest';
import { ACME_WRITER, SUPER_ADMIN } from '../support/callers.js';
import { aServer } from '../support/documents.js';
import { publish } from '../support/publishing.js';
import { aService } from '../support/service.js';
import { within } from '../support/within.js';

const CLAIMS = { org: 'acme', team: 'platform' };
const POLL_MS = 2_000;

describe('the search keys of published texts', () => {
  const service = aService({ mode: 'full' })
    .source('published', { kind: 'managed' })
    .source('synced', { servers: [aServer('io.acme/synced')], claims: CLAIMS })
    .registry('main', { sources: ['published', 'synced'] })
    .runs();
  beforeAll(async () => {
    expect((await service.synced('synced')).status).toBe('complete');
    await service.database.query('create extension pgstattuple');
  });

  // Each lookup reads the whole pending list of the GIN index.
  const pendingPages = async (): Promise<number> => {
    const [found] = await service.database.query<{ pages: number }>(
      `select pending_pages::int as pages from pgstatginindex('search_text_keys')`,
    );
    return found?.pages ?? Number.NaN;
  };
  const withoutKeys = () => service.database.query(`select name from search_text where grams = ''`);

  it('are in the index after a sync', async () => {
    expect([await pendingPages(), await withoutKeys()]).toEqual([0, []]);
  });

  it('are added in batches, to a pending list of 64 kB', async () => {
    const pages: number[] = [];
    for (let number = 0; number < 40; number += 1) {
      await publish(service.as(ACME_WRITER), 'server', `io.acme/published-${number}`, CLAIMS);
      pages.push(await pendingPages());
    }
    expect(Math.max(...pages)).toBeGreaterThan(0);
    // PostgreSQL may exceed the limit while an autovacuum merges, so the pages themselves prove nothing.
    const writers = `select proname as name from pg_proc
      where 'gin_pending_list_limit=64kB' = any(proconfig) order by proname`;
    expect(await service.database.query(writers)).toEqual([
      { name: 'add_search_texts' },
      { name: 'change_search_text' },
    ]);
    await within(20_000, async () => expect(await withoutKeys()).toEqual([]));
    expect(await pendingPages()).toBe(0);
    const { status, text } = await service
      .as(SUPER_ADMIN)
      .get('/registry/main/v0.1/servers?search=published-39');
    expect([status, text.includes('io.acme/published-39')]).toEqual([200, true]);
  });

  // Otherwise each publication would cost a batch of its own.
  it('are prepared for the ranked search in batches, however fast publications arrive', async () => {
    const batches = async (names: readonly string[]): Promise<number> => {
      const [found] = await service.database.query<{ batches: number }>(
        `select count(distinct xmin::text)::int as batches from entry_summary where not is_outdated and name = any($1)`,
        [names],
      );
      return found?.batches ?? Number.NaN;
    };
    const names: string[] = [];
    const publishNext = async () => {
      const name = `io.acme/batched-${names.length}`;
      names.push(name);
      await publish(service.as(ACME_WRITER), 'server', name, CLAIMS);
    };
    const before = performance.now();
    let hasBegun = false;
    const begins = within(20_000, async () => expect(await batches(names)).toBeGreaterThan(0)).finally(() => {
      hasBegun = true;
    });
    const publishMany = async () => {
      do await publishNext();
      while (!hasBegun);
      for (let number = 0; number < 20; number += 1) await publishNext();
    };
    await Promise.all([begins, ...Array.from({ length: 4 }, publishMany)]);
    const most = 2 + Math.ceil((performance.now() - before) / POLL_MS);
    await within(20_000, async () => {
      const [found] = await service.database.query<{ waiting: number }>(
        `select count(*)::int as waiting from entry_summary where is_outdated`,
      );
      expect(found?.waiting).toBe(0);
    });
    expect(await batches(names)).toBeLessThanOrEqual(most);
  });
});
