import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { outcomeOf } from '../support/answers.js';
import { ACME_DATA, ACME_PLATFORM, CONTOSO_READER, SUPER_ADMIN } from '../support/callers.js';
import { aServer } from '../support/documents.js';
import type { Reply } from '../support/http.js';
import { expectRefused, versionsIn } from '../support/matchers.js';
import { aName, consumerAt, entryAt, publish } from '../support/publishing.js';
import { aService, type ServiceUnderTest } from '../support/service.js';
import { StatementTap } from '../support/statement-tap.js';
import { within } from '../support/within.js';

const FOR_DATA = { org: 'acme', team: 'data' };
const FOR_PLATFORM = { org: 'acme', team: 'platform' };
const SHARED = 'io.acme/in-both';
/** Tables that consumer reads query; background work uses others. */
const READ_TABLES = /\b(registry|entry|entry_version|source_partition|claim_set)\b/;

describe('a replica with a cached registry that another replica changes', () => {
  const writer = aService({ mode: 'full' })
    .source('published', { kind: 'managed' })
    .source('first', { servers: [aServer(SHARED, '1.0.0'), aServer('io.acme/one')], claims: FOR_DATA })
    .source('second', { servers: [aServer(SHARED, '2.0.0'), aServer('io.acme/two')], claims: FOR_DATA })
    .registry('main', { sources: ['published'] })
    .runs();
  let tap: StatementTap;
  let reader: ServiceUnderTest;
  beforeAll(async () => {
    tap = new StatementTap(writer.database);
    const { user, database } = writer.database;
    const throughTap = { host: '127.0.0.1', port: await tap.listen(), user, database };
    reader = writer.replica().configuration({ database: throughTap });
    await reader.start();
    for (const source of ['first', 'second']) expect((await writer.synced(source)).status).toBe('complete');
  });
  afterAll(async () => {
    await reader.stop();
    tap.close();
  });

  const admin = () => writer.as(SUPER_ADMIN);
  const put = async (registry: string, sources: string[], claims: object = {}) => {
    const { status } = await admin().put(`/v1/registries/${registry}`, { sources, claims });
    expect([200, 201]).toContain(status);
  };
  const listOf = (registry: string, query = '') => `/registry/${registry}/v0.1/servers${query}`;
  /** Creates a registry and caches it in the reader for each of the callers. */
  const cachedRegistry = async (
    sources: string[],
    callers: readonly Record<string, unknown>[],
    claims?: object,
  ) => {
    const registry = aName().replace(/^.*\//, 'r-').slice(0, 40).toLowerCase();
    await put(registry, sources, claims);
    for (const caller of callers) expect((await reader.as(caller).get(listOf(registry))).status).toBe(200);
    return registry;
  };
  /** Responses for cached pages, new pages and invalid queries. */
  const answersFor = async (
    caller: Record<string, unknown>,
    registry: string,
    first = '?limit=71',
  ): Promise<string[]> => {
    const asked = ['', '?limit=71', '?limit=72', '?limit=none', '?cursor=none', '?search=acme'];
    const replies = new Map<string, Reply>();
    // Only the first request can hit a stale cache: it makes the replica check the revisions.
    for (const query of new Set([first, ...asked]))
      replies.set(query, await reader.as(caller).get(listOf(registry, query)));
    return asked.map((query) => {
      const reply = replies.get(query) as Reply;
      return reply.status === 200 ? versionsIn(reply).join() : outcomeOf(reply);
    });
  };
  const everywhere = (outcome: string) => Array<string>(6).fill(outcome);
  const shown = (...versions: string[]) => {
    const list = versions.join();
    return [list, list, list, '400 invalid_parameter', '400 invalid_cursor', list];
  };
  const statementsOf = async (request: () => Promise<{ status: number }>) => {
    tap.statements.length = 0;
    const { status } = await request();
    const sent = tap.statements.filter(
      (statement) => READ_TABLES.test(statement) && !/source_sync/.test(statement),
    );
    return { status, sent: sent.length };
  };

  it('reads a new page and a cached page with one statement each', async () => {
    const registry = await cachedRegistry(['first', 'second'], [ACME_DATA]);
    const data = reader.as(ACME_DATA);
    const byName = consumerAt('server', SHARED, '/versions/latest').replace('/main/', `/${registry}/`);
    const once = { status: 200, sent: 1 };
    for (const page of [listOf(registry, '?limit=81'), listOf(registry, '?version=latest'), byName]) {
      expect(await statementsOf(() => data.get(page))).toEqual(once);
      expect(await statementsOf(() => data.get(page))).toEqual(once);
    }
  });

  it('detects a change with the second statement and reads again', async () => {
    const registry = await cachedRegistry(['published'], [ACME_DATA]);
    const page = (limit: number) => () => reader.as(ACME_DATA).get(listOf(registry, `?limit=${limit}`));
    expect(await statementsOf(page(81))).toEqual({ status: 200, sent: 1 });
    await publish(admin(), 'server', aName(), FOR_DATA);
    // Stale page, revision check, partitions, new claim sets if any, fresh page.
    const { status, sent } = await statementsOf(page(82));
    expect(status).toBe(200);
    expect(sent).toBeGreaterThan(2);
    expect(sent).toBeLessThan(6);
    expect(await statementsOf(page(83))).toEqual({ status: 200, sent: 1 });
  });

  const FIRST = [['?limit=71'], [''], ['?limit=none'], ['?search=acme']] as const;

  it.each(FIRST)('applies new claims of the registry, first request %j', async (first) => {
    const registry = await cachedRegistry(['first'], [CONTOSO_READER, ACME_DATA]);
    await put(registry, ['first'], { org: 'acme' });
    expect(await answersFor(CONTOSO_READER, registry, first)).toEqual(everywhere('403 registry_forbidden'));
    expect(await answersFor(ACME_DATA, registry)).toEqual(shown(`${SHARED}@1.0.0`, 'io.acme/one@1.0.0'));
    await put(registry, ['first']);
    expect(await answersFor(CONTOSO_READER, registry)).toEqual(shown());
  });

  it.each([
    [
      'added',
      ['first'],
      ['first', 'second'],
      ['io.acme/in-both@1.0.0', 'io.acme/one@1.0.0', 'io.acme/two@1.0.0'],
    ],
    ['removed', ['first', 'second'], ['second'], ['io.acme/in-both@2.0.0', 'io.acme/two@1.0.0']],
    [
      'moved to the front',
      ['first', 'second'],
      ['second', 'first'],
      ['io.acme/in-both@2.0.0', 'io.acme/one@1.0.0', 'io.acme/two@1.0.0'],
    ],
  ])('shows the current entries after a source was %s', async (_how, before, after, versions) => {
    const registry = await cachedRegistry(before, [ACME_DATA, SUPER_ADMIN]);
    await put(registry, after);
    expect(await answersFor(ACME_DATA, registry)).toEqual(shown(...versions));
    expect(await answersFor(SUPER_ADMIN, registry)).toEqual(shown(...versions));
  });

  it('returns 404 for an entry whose new claims hide it', async () => {
    const name = aName();
    await publish(admin(), 'server', name, FOR_DATA);
    const registry = await cachedRegistry(['published'], [ACME_DATA, ACME_PLATFORM]);
    const by = (version: string) => listOf(registry, `/${encodeURIComponent(name)}/versions/${version}`);
    expect((await reader.as(ACME_DATA).get(by('latest'))).status).toBe(200);
    await admin().put(entryAt('server', name, '/claims'), { claims: FOR_PLATFORM });
    expectRefused(await reader.as(ACME_DATA).get(by('1.0.0')), 404, 'entry_not_found');
    expectRefused(await reader.as(ACME_DATA).get(by('latest')), 404, 'entry_not_found');
    expect((await reader.as(ACME_PLATFORM).get(by('1.0.0'))).status).toBe(200);
  });

  it.each(FIRST)(
    'returns 404 for a deleted registry, and the new one when recreated, first request %j',
    async (first) => {
      const registry = await cachedRegistry(['first'], [ACME_DATA, ACME_PLATFORM]);
      expect((await admin().delete(`/v1/registries/${registry}`)).status).toBe(204);
      expect(await answersFor(ACME_DATA, registry, first)).toEqual(everywhere('404 registry_not_found'));
      await put(registry, ['first']);
      expect(await answersFor(ACME_DATA, registry)).toEqual(shown(`${SHARED}@1.0.0`, 'io.acme/one@1.0.0'));
      await admin().delete(`/v1/registries/${registry}`);
      await put(registry, ['second'], FOR_DATA);
      expect(await answersFor(ACME_PLATFORM, registry, first)).toEqual(everywhere('403 registry_forbidden'));
      expect(await answersFor(ACME_DATA, registry)).toEqual(shown(`${SHARED}@2.0.0`, 'io.acme/two@1.0.0'));
    },
  );

  it('never returns a page that was read before the request arrived', async () => {
    const name = aName();
    await publish(admin(), 'server', name, FOR_DATA);
    const registry = await cachedRegistry(['published'], [ACME_DATA]);
    const at = listOf(registry, `/${encodeURIComponent(name)}/versions/latest`);
    const [{ now } = { now: '' }] = await writer.database.query<{ now: string }>(
      'select clock_timestamp()::text as now',
    );
    tap.hold('freshness');
    const before = reader.as(ACME_DATA).get(at);
    await within(20_000, async () =>
      expect(
        await writer.database.query(
          `select 1 from pg_stat_activity where datname = current_database() and query like '%freshness."isCurrent", v.document%'
             and state = 'idle' and query_start > $1 and pid <> pg_backend_pid()`,
          [now],
        ),
      ).not.toEqual([]),
    );
    await admin().put(entryAt('server', name, '/claims'), { claims: FOR_PLATFORM });
    const after = reader.as(ACME_DATA).get(at);
    // This request is waiting once a later request that needs no queries has its response.
    await reader.as(ACME_DATA).get('/v1/me');
    tap.release();
    expect((await before).status).toBe(200);
    expectRefused(await after, 404, 'entry_not_found');
  });
});
