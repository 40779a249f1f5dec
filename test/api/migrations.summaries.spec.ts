import type { DataSource } from 'typeorm';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { migrateDown, migrateUp } from '../../dist/database/migrate.js';
import { createDataSource } from '../../dist/database/open-database.js';
import { SUPER_ADMIN } from '../support/callers.js';
import { aServer } from '../support/documents.js';
import type { Reply, Sender } from '../support/http.js';
import { aName, entryAt, publish } from '../support/publishing.js';
import { aService } from '../support/service.js';
import { within } from '../support/within.js';

/** More than one transaction adds. */
const MANY = 2_100;
const BEFORE = 'Marketplaces1798010000000';

const service = aService({ mode: 'full' })
  .source('many', {
    servers: Array.from({ length: MANY }, (_, index) => aServer(`io.many/s${index}`)),
    claims: { team: 'many' },
  })
  .source('published', { kind: 'managed' })
  .registry('main', { sources: ['many', 'published'] })
  .runs();

let owner: DataSource;
beforeAll(async () => {
  owner = createDataSource({ ...service.database.connection, poolMax: 2 }, [], () => undefined);
  await owner.initialize();
  await service.synced('many');
});
afterAll(() => owner.destroy());

const admin = () => service.as(SUPER_ADMIN);
const newest = async () =>
  (await owner.query<{ name: string }[]>('select name from schema_migration order by id desc limit 1'))[0]
    ?.name;

async function countFor(sender: Sender, query = ''): Promise<number> {
  let reply: Reply | undefined;
  // A search may give up before all summaries are written.
  await within(60_000, async () => {
    reply = await sender.get(`/registry/main/x/search?limit=1${query}`);
    expect(reply.status, reply.text).toBe(200);
  });
  const counted = reply?.json as { facets: { type: Record<string, number> } } | undefined;
  return counted?.facets.type['server'] ?? 0;
}
const seenBy = (team: string, name: string) =>
  countFor(service.as({ team }), `&q=${encodeURIComponent(name)}`);
const move = (name: string, team: string) =>
  service.database.query(
    `update entry set claim_set_id = (
       select e.claim_set_id from entry e join entry_version v on v.entry_id = e.id where e.name = $2 limit 1
     ) where name = $1`,
    [name, team],
  );

describe('the ranked search after an upgrade to the version with summaries', () => {
  const [moved, other] = [aName(), aName()];
  beforeAll(async () => {
    await publish(admin(), 'server', moved, { team: 'before' });
    await publish(admin(), 'server', other, { team: 'after' });
  });

  // Migrated by hand, so that entries change before the server adds summaries.
  beforeEach(async () => {
    await service.stop();
    while ((await newest()) !== BEFORE) await migrateDown(owner, true);
    await migrateUp(owner);
    expect(await owner.query('select 1 from entry_summary')).toEqual([]);
  });

  it('finds every entry', async () => {
    await service.start();
    expect(await countFor(service.as({ team: 'many' }))).toBe(MANY);
    expect(await seenBy('before', moved)).toBe(1);
    await within(20_000, async () =>
      expect(await owner.query('select 1 from entry_summary_fill')).toEqual([]),
    );
    expect(await countFor(admin())).toBe(MANY + 2);
  });

  it('shows an entry only by the claims that it got before its summary', async () => {
    await move(moved, other);
    await service.start();
    expect(await seenBy('before', moved)).toBe(0);
    expect(await seenBy('after', moved)).toBe(1);
    expect(
      (await admin().put(entryAt('server', moved, '/claims'), { claims: { team: 'before' } })).status,
    ).toBe(204);
    expect(await seenBy('after', moved)).toBe(0);
    expect(await seenBy('before', moved)).toBe(1);
  });

  it('waits for a writer that is changing claims, without keeping it waiting', async () => {
    const { database } = service;
    const holder = owner.createQueryRunner();
    await holder.startTransaction();
    await holder.query('lock table entry_summary_fill in exclusive mode');
    await service.start();
    await database.query('begin');
    await move(moved, other);
    await holder.rollbackTransaction();
    await holder.release();
    const search = seenBy('before', moved);
    await within(20_000, async () =>
      expect(
        await owner.query(
          `select 1 from pg_locks w join pg_locks h on h.pid = w.pid and h.granted
           where not w.granted and h.relation = 'entry_summary_fill'::regclass`,
        ),
      ).not.toEqual([]),
    );
    // Fails if the server kept the row from the writer.
    await database.query(`set local lock_timeout = '5s'`);
    await move(other, moved);
    await database.query('commit');
    expect(await search).toBe(0);
    expect(await seenBy('after', moved)).toBe(1);
  });
});
