import { type ClientRequest, request } from 'node:http';
import pg from 'pg';
import { afterEach, describe, expect, it } from 'vitest';
import { ACME_ADMIN } from '../support/callers.js';
import { aServer, aSkill } from '../support/documents.js';
import { call, type Reply } from '../support/http.js';
import { expectRefused, versionsIn } from '../support/matchers.js';
import { waitForLocks } from '../support/patient-reads.js';
import { aService, type ServiceUnderTest } from '../support/service.js';
import { within } from '../support/within.js';

waitForLocks();

const LIST = '/registry/main/v0.1/servers';
const SKILLS = '/registry/main/v0.1/x/dev.toolhive/skills';
const SOON_MS = 20_000;

const reader = (sub: string) => ({ sub, org: 'acme' });
const search = (text: string) => `${LIST}?search=${text}`;
let lists = 0;
/** An uncached list with the limits for searches, but 30 s to run, so that it also completes on a slow machine. */
const aLongSearch = () => `${LIST}?version=1.0.${(lists += 1)}`;
/** The description of a server: each part is a text to search for, which makes the search read its versions. */
const LETTERS = 'abcdefghijklmnopqrstuvwxyz0123456789';

/** Locks a table to make searches slow; returns the release. */
async function locked(service: ServiceUnderTest, table: string): Promise<() => Promise<void>> {
  const holder = new pg.Client(service.database.connection);
  await holder.connect();
  await holder.query('begin');
  await holder.query(`lock table ${table} in access exclusive mode`);
  return () => holder.end();
}

/** Number of search statements running in PostgreSQL. */
async function running(service: ServiceUnderTest): Promise<number> {
  const rows = await service.database.query(
    `select 1 from pg_stat_activity
     where datname = current_database() and application_name = 'registry-server-search' and state = 'active'`,
  );
  return rows.length;
}

async function untilRunning(service: ServiceUnderTest, count: number): Promise<void> {
  await within(SOON_MS, async () => expect(await running(service)).toBe(count));
}

/** Waits until readiness, which needs a prompt response from PostgreSQL, returns 200. */
async function isReady({ internalOrigin }: ServiceUnderTest): Promise<void> {
  await within(SOON_MS, async () =>
    expect((await call(`${internalOrigin}/readiness`)).json).toEqual({ status: 'ready' }),
  );
}

/** Sends a request without reading the response; `destroy` disconnects. */
function startRequest(
  service: ServiceUnderTest,
  path: string,
  claims?: Record<string, unknown>,
): ClientRequest {
  const headers = claims ? { Authorization: `Bearer ${service.issuer.sign(claims)}` } : {};
  const outgoing = request(service.origin + path, { headers, agent: false });
  outgoing.on('error', () => undefined);
  outgoing.end();
  return outgoing;
}

function aCatalogueFor(service: ServiceUnderTest): ServiceUnderTest {
  return service
    .source('main', {
      servers: [aServer('io.acme/deploy'), aServer('io.acme/weather', '1.0.0', { description: LETTERS })],
      skills: [aSkill('io.acme/greet')],
      claims: { org: 'acme' },
    })
    .registry('main', { sources: ['main'], claims: { org: 'acme' } });
}

describe('slow searches', () => {
  const service = aCatalogueFor(aService({ mode: 'full' }));
  service.environment['REGISTRY_DATABASE_POOL_MAX'] = '2';
  service.runs();
  let unlock = async () => {};
  afterEach(async () => {
    await unlock();
    await untilRunning(service, 0);
  });

  it('do not use the connections of reads, changes and readiness', async () => {
    const list = await service.as(reader('rita')).get(LIST);
    expect(versionsIn(list)).toHaveLength(2);
    unlock = await locked(service, 'entry_version');
    let ended = 0;
    const searches = Array.from({ length: 12 }, (_, i) =>
      service
        .as(reader(`searcher-${i}`))
        .get(aLongSearch())
        .finally(() => (ended += 1)),
    );
    await untilRunning(service, 3);
    const replies: Reply[] = await Promise.all([
      service.as(reader('rita')).get(LIST),
      service.as(ACME_ADMIN).put('/v1/registries/other', { sources: ['main'], claims: { org: 'acme' } }),
    ]);
    await isReady(service);
    expect(await running(service)).toBe(3);
    expect(replies.map(({ status }) => status)).toEqual([200, 201]);
    expect(replies[0]?.text).toBe(list.text);
    await within(SOON_MS, () => expect(ended).toBe(9));
    await unlock();
    const refused = (await Promise.all(searches)).filter(({ status }) => status !== 200);
    expect(refused).toHaveLength(9);
    for (const reply of refused) {
      expectRefused(reply, 503, 'overloaded');
      expect(reply.headers['retry-after']).toBe('2');
    }
  });

  it.each([search('ab'), `${SKILLS}?search=greet`])(
    'return 503 search_too_broad with a hint: %s',
    async (path) => {
      unlock = await locked(service, 'entry_version');
      const longer = service.as(reader('otto')).get(aLongSearch());
      await untilRunning(service, 1);
      const reply = await service.as(reader('rita')).get(path);
      // A list with other filters may run for 30 s.
      expect(await running(service)).toBe(1);
      expectRefused(reply, 503, 'search_too_broad');
      expect(reply.headers['retry-after']).toBe('2');
      expect(reply.text).toContain('a longer or rarer search text');
      await unlock();
      expect((await longer).status).toBe(200);
      expect((await service.as(reader('rita')).get(path)).status).toBe(200);
    },
  );

  it('are limited to two per caller: further ones wait, then get 429 too_many_requests', async () => {
    unlock = await locked(service, 'entry_version');
    const both = [1, 2].map(() => service.as(reader('rita')).get(aLongSearch()));
    await untilRunning(service, 2);
    const third = await service.as(reader('rita')).get(search('weather'));
    expectRefused(third, 429, 'too_many_requests');
    expect(third.headers['retry-after']).toBe('2');
    const other = service.as(reader('otto')).get(aLongSearch());
    await untilRunning(service, 3);
    // Waits for at most 2 s. The request is waiting once a later request that needs no queries has its response.
    const waiting = service.as(reader('rita')).get(search('weather'));
    await service.as(reader('rita')).get('/v1/me');
    await unlock();
    for (const reply of await Promise.all([...both, other])) expect(reply.status).toBe(200);
    expect(versionsIn(await waiting)).toEqual(['io.acme/weather@1.0.0']);
  });

  it('shared by several clients continue while one of them still waits', async () => {
    unlock = await locked(service, 'entry_version');
    const path = aLongSearch();
    const [first, second] = ['rita', 'otto'].map((sub) => startRequest(service, path, reader(sub)));
    await untilRunning(service, 1);
    const third = service.as(reader('olga')).get(path);
    first?.destroy();
    second?.destroy();
    await unlock();
    expect((await third).status).toBe(200);
  });
});

describe('a search in anonymous mode', () => {
  const service = aCatalogueFor(aService())
    .configuration({ limits: { searchesPerCaller: 1 } })
    .runs();

  it('is limited by client address, except for cached responses', async () => {
    const known = await service.get(search('deploy'));
    expect(versionsIn(known)).toEqual(['io.acme/deploy@1.0.0']);
    const unlock = await locked(service, 'entry_version');
    const first = service.get(aLongSearch());
    await untilRunning(service, 1);
    expectRefused(await service.get(search('weather')), 429, 'too_many_requests');
    expect((await service.get(search('deploy'))).text).toBe(known.text);
    await unlock();
    expect((await first).status).toBe(200);
    expect(versionsIn(await service.get(search('weather')))).toEqual(['io.acme/weather@1.0.0']);
  });
});

describe('a server whose database connections are all busy', () => {
  const service = aCatalogueFor(aService());
  service.environment['REGISTRY_DATABASE_POOL_MAX'] = '2';
  service.runs();

  it('stays ready', async () => {
    const unlock = await locked(service, 'registry');
    const reads = [LIST, '/registry', '/v1/registries', '/v1/registries/main'].map((path) =>
      service.get(path),
    );
    await within(SOON_MS, async () => {
      const waiting = await service.database.query(
        `select 1 from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`,
      );
      expect(waiting).toHaveLength(2);
    });
    await isReady(service);
    await unlock();
    for (const read of await Promise.all(reads)) expect(read.status).toBe(200);
  });
});
