import { randomBytes } from 'node:crypto';
import { brotliDecompressSync, gunzipSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import { outcomeOf } from '../support/answers.js';
import { ACME_DATA, ACME_PLATFORM, SUPER_ADMIN } from '../support/callers.js';
import type { TestDatabase } from '../support/database.js';
import { aServer } from '../support/documents.js';
import type { Reply, Sender } from '../support/http.js';
import { expectRefused, versionsIn } from '../support/matchers.js';
import { waitForLocks } from '../support/patient-reads.js';
import { aName, consumerAt, entryAt, listAt, publish } from '../support/publishing.js';
import { aService } from '../support/service.js';
import { waitingStatements } from '../support/waiting-statements.js';
import { within } from '../support/within.js';

waitForLocks();

const LIST = listAt('server');
const FOR_DATA = { org: 'acme', team: 'data' };
const FOR_PLATFORM = { org: 'acme', team: 'platform' };

const tagOf = (reply: Reply) => String(reply.headers['etag']);

/** Waits until one statement waits for a lock the test holds. */
async function oneStatementWaits(database: TestDatabase): Promise<void> {
  await within(20_000, async () => expect(await waitingStatements(database)).toBe(1));
}

describe('a cached page', () => {
  const service = aService({ mode: 'full' })
    .source('published', { kind: 'managed' })
    .registry('main', { sources: ['published'] })
    .runs();
  const admin = () => service.as(SUPER_ADMIN);
  const data = () => service.as(ACME_DATA);

  /** Locks the documents: a request that reads one waits until `then` is done. */
  async function withoutDocuments<T>(then: () => Promise<T>): Promise<T> {
    await service.database.query('begin');
    await service.database.query('lock table entry_version in access exclusive mode');
    try {
      return await then();
    } finally {
      await service.database.query('rollback');
    }
  }

  it('is returned, or a 304 instead, without reading documents', async () => {
    await publish(admin(), 'server', aName(), FOR_DATA);
    const pages = [LIST, `${LIST}?limit=1`, `${LIST}?search=entry`, `${LIST}?version=latest`];
    const first = await Promise.all(pages.map((page) => data().get(page)));
    await withoutDocuments(async () => {
      for (const [index, page] of pages.entries()) {
        const known = first[index] as Reply;
        expect((await data().get(page)).text).toBe(known.text);
        expect((await data().get(page, { 'If-None-Match': tagOf(known) })).status).toBe(304);
      }
    });
  });

  it('is shared only with callers who see the same', async () => {
    const name = aName();
    await publish(admin(), 'server', name, FOR_DATA);
    await publish(admin(), 'server', aName(), FOR_PLATFORM);
    const at = consumerAt('server', name, '/versions/latest');
    const known = await data().get(at);
    const [colleague, stranger] = await withoutDocuments(async () => {
      const same = await service.as({ ...ACME_DATA, sub: 'doris', role: 'writer' }).get(at);
      let answered = false;
      const other = service.as(ACME_PLATFORM).get(at);
      void other.then(() => (answered = true));
      await service.as(SUPER_ADMIN).get('/v1/me');
      expect(answered).toBe(false);
      return [same, other] as const;
    });
    expect(colleague.text).toBe(known.text);
    expectRefused(await stranger, 404, 'entry_not_found');
  });

  it('keeps its ETag while only hidden entries change', async () => {
    const name = aName();
    await publish(admin(), 'server', name, FOR_DATA);
    const before = await data().get(LIST);
    const hidden = aName();
    await publish(admin(), 'server', hidden, FOR_PLATFORM);
    await publish(admin(), 'server', hidden, FOR_PLATFORM, '1.0.1');
    await admin().delete(entryAt('server', hidden, '/versions/1.0.0'));
    expect((await data().get(LIST, { 'If-None-Match': tagOf(before) })).status).toBe(304);
    await admin().put(entryAt('server', hidden, '/claims'), { claims: FOR_DATA });
    const after = await data().get(LIST, { 'If-None-Match': tagOf(before) });
    expect(after.status).toBe(200);
    expect(versionsIn(after)).toEqual([...versionsIn(before), `${hidden}@1.0.1`].sort());
  });

  it('is read again when the catalog changes between resolving the view and reading rows', async () => {
    const name = aName();
    await publish(admin(), 'server', name, FOR_DATA);
    const { database } = service;
    await database.query('begin');
    await database.query('lock table entry_version in access exclusive mode');
    const asked = data().get(`${LIST}?search=${name}`);
    await oneStatementWaits(database);
    // Still visible, but in a claim set created after the request.
    await database.query(
      `with new_set as (insert into claim_set (claims, digest) values ('{"team": "data"}', sha256(convert_to($1::text, 'UTF8'))) returning id)
       update entry set claim_set_id = new_set.id from new_set where name = $1`,
      [name],
    );
    await database.query('update source set revision = revision + 1');
    await database.query('commit');
    expect(versionsIn(await asked)).toEqual([`${name}@1.0.0`]);
  });

  it('never lacks an entry whose claim set changes constantly but stays visible', async () => {
    const name = aName();
    await publish(admin(), 'server', name, FOR_DATA);
    const at = consumerAt('server', name, '/versions/latest');
    let isOver = false;
    const writing = (async () => {
      for (let round = 0; !isOver; round += 1)
        await service.database.query(
          `with new_set as (
             insert into claim_set (claims, digest) values ('{"team": "data"}', sha256(convert_to($1, 'UTF8'))) returning id
           ), moved as (update source set revision = revision + 1)
           update entry set claim_set_id = new_set.id from new_set where name = $2`,
          [`${name} ${round}`, name],
        );
    })();
    const outcomes = new Set<string>();
    for (let request = 0; request < 12; request += 1) outcomes.add(outcomeOf(await data().get(at)));
    isOver = true;
    await writing;
    expect([...outcomes].filter((outcome) => !['200', '503 database_timeout'].includes(outcome))).toEqual([]);
    expect((await data().get(at)).status).toBe(200);
  });

  it('is 404 from the next request once the claims change', async () => {
    const name = aName();
    await publish(admin(), 'server', name, FOR_DATA);
    const at = consumerAt('server', name, '/versions/1.0.0');
    const known = await data().get(at);
    expect(known.status).toBe(200);
    await admin().put(entryAt('server', name, '/claims'), { claims: FOR_PLATFORM });
    expectRefused(await data().get(at, { 'If-None-Match': tagOf(known) }), 404, 'entry_not_found');
    await admin().put(entryAt('server', name, '/claims'), { claims: FOR_DATA });
    expect((await data().get(at)).text).toBe(known.text);
  });
});

describe('a page read while the only source of the registry is replaced', () => {
  const ALIKE = 'io.acme/in-both';
  const service = aService({ mode: 'full' })
    .source('first', { servers: [aServer(ALIKE)], claims: FOR_DATA })
    .source('second', { servers: [aServer(ALIKE)], claims: FOR_DATA })
    .registry('main', { sources: ['first'] })
    .runs();

  it('is never empty', async () => {
    const { database } = service;
    await database.query('begin');
    await database.query('lock table source_partition in access exclusive mode');
    const asked = [LIST, consumerAt('server', ALIKE, '/versions/latest')].map((path) =>
      service.as(ACME_DATA).get(path),
    );
    await oneStatementWaits(database);
    await database.query(
      `update registry_source set source_id = (select id from source where name = 'second')`,
    );
    await database.query(`delete from source where name = 'first'`);
    await database.query('commit');
    const [list, latest] = await Promise.all(asked);
    expect(versionsIn(list as Reply)).toEqual([`${ALIKE}@1.0.0`]);
    expect(latest?.status).toBe(200);
  });
});

describe('a page of several entries', () => {
  const long = Array.from({ length: 40 }, (_, index) => `Word ${index} of many, ä and 𝒳.`).join(' ');
  const service = aService()
    .source('main', {
      servers: Array.from({ length: 5 }, (_, index) => ({
        name: `io.acme/s${index}`,
        description: 'Compresses well',
        version: '1.0.0',
        _meta: { 'io.modelcontextprotocol.registry/publisher-provided': { long } },
      })),
    })
    .registry('main', { sources: ['main'] })
    .runs();

  const accepting = (coding: string, more = {}): ReturnType<Sender['get']> =>
    service.get(LIST, { 'Accept-Encoding': coding, ...more });

  it.each([
    ['gzip', 'gzip', gunzipSync],
    ['br', 'br', brotliDecompressSync],
    ['gzip, deflate, br, zstd', 'br', brotliDecompressSync],
    ['br;q=0.1, gzip', 'gzip', gunzipSync],
    ['*', 'br', brotliDecompressSync],
  ])('for Accept-Encoding %s is %s, with its own ETag', async (accepted, coding, decompress) => {
    const plain = await service.get(LIST);
    for (let time = 0; time < 2; time += 1) {
      const reply = await accepting(accepted);
      expect(reply.headers).toMatchObject({
        'content-encoding': coding,
        'content-length': String(reply.bytes.length),
        'content-type': 'application/json; charset=utf-8',
        vary: 'Authorization, Origin, Accept-Encoding',
      });
      expect(decompress(reply.bytes).toString()).toBe(plain.text);
      expect(reply.bytes.length).toBeLessThan(plain.bytes.length / 2);
      expect(tagOf(reply)).not.toBe(tagOf(plain));
      const again = await accepting(accepted, { 'If-None-Match': tagOf(reply) });
      expect({ status: again.status, tag: tagOf(again), bytes: again.bytes.length }).toEqual({
        status: 304,
        tag: tagOf(reply),
        bytes: 0,
      });
      expect((await service.get(LIST, { 'If-None-Match': tagOf(reply) })).status).toBe(200);
    }
  });

  it.each([['identity'], ['deflate'], ['gzip;q=0, br;q=0'], ['*;q=0'], [''], ['nonsense;;q=x']])(
    'is not compressed for Accept-Encoding "%s"',
    async (accepted) => {
      const reply = await accepting(accepted);
      expect(reply.headers['content-encoding']).toBeUndefined();
      expect(reply.text).toBe((await service.get(LIST)).text);
    },
  );

  it('is not compressed when it is small', async () => {
    const reply = await service.get(`${LIST}?search=absent`, { 'Accept-Encoding': 'gzip' });
    expect(reply.headers['content-encoding']).toBeUndefined();
    expect(reply.json).toEqual({ servers: [], metadata: { count: 0 } });
  });

  it('has the same headers for HEAD as for GET', async () => {
    for (const coding of ['gzip', 'identity']) {
      const asked = { 'Accept-Encoding': coding };
      const [got, head] = [
        await service.get(LIST, asked),
        await service.send('HEAD', LIST, { headers: asked }),
      ];
      const headers = ({ headers: { date: _date, 'x-request-id': _id, ...rest } }: Reply) => rest;
      expect(headers(head)).toEqual(headers(got));
      expect(head.bytes.length).toBe(0);
    }
  });
});

describe('the cache of 1 MiB pages', () => {
  // Random base64 compresses to three quarters at best.
  const long = () => randomBytes(45_000).toString('base64');
  const service = aService()
    .source('main', {
      servers: Array.from({ length: 80 }, (_, index) =>
        aServer(`io.acme/large-${index}`, '1.0.0', {
          _meta: { 'io.modelcontextprotocol.registry/publisher-provided': { long: long() } },
        }),
      ),
    })
    .registry('main', { sources: ['main'] })
    .runs();
  const MIB = 1024 * 1024;
  const page = (limit: number, coding = 'identity', more = {}) =>
    service.get(`${LIST}?limit=${limit}`, { 'Accept-Encoding': coding, ...more });

  it('counts compressed forms toward its limit of 12 MiB', async () => {
    // More rows than fit on a page, so that all pages have the same size.
    const limits = Array.from({ length: 10 }, (_, index) => 41 + index);
    const weights = new Map<number, number>();
    for (const limit of limits) weights.set(limit, (await page(limit)).bytes.length);
    // A page that is not cached is cached afterwards, instead of older ones.
    const newestFirst = limits.toReversed();
    expect(await cachedOf(newestFirst)).toEqual(newestFirst);
    for (const limit of limits)
      weights.set(limit, (weights.get(limit) ?? 0) + (await page(limit, 'gzip')).bytes.length);
    const cached = await cachedOf(newestFirst);
    expect(cached).toContain(newestFirst[0]);
    const weight = cached.reduce((sum, limit) => sum + (weights.get(limit) ?? 0), 0);
    expect(weight).toBeLessThan(12 * MIB);
  });

  async function cachedOf(limits: number[]): Promise<number[]> {
    const cached: number[] = [];
    for (const limit of limits) if (await isCached(limit)) cached.push(limit);
    return cached;
  }

  /** Whether the page is returned while the documents are locked. */
  async function isCached(limit: number): Promise<boolean> {
    const { database } = service;
    let answered = 0;
    await database.query('begin');
    await database.query('lock table entry_version in access exclusive mode');
    const asked = page(limit).then(() => (answered = 1));
    try {
      await within(20_000, async () => expect(answered + (await waitingStatements(database))).toBe(1));
      return answered === 1;
    } finally {
      await database.query('rollback');
      await asked;
    }
  }
});
