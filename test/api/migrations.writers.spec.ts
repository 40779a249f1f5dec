import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { DataSource } from 'typeorm';
import { createDataSource } from '../../dist/database/data-source.js';
import { migrateDown, migrateUp, migrationStatus } from '../../dist/database/migrate.js';
import { SUPER_ADMIN } from '../support/callers.js';
import { aServer } from '../support/documents.js';
import { versionsIn } from '../support/matchers.js';
import { aName, aPublication, entryAt, listAt, publish } from '../support/publishing.js';
import { aService } from '../support/service.js';

const patience = { timeout: 20_000, interval: 20 };

const MIGRATIONS = [
  { what: 'that writes partitions down', migration: 'SourcePartitions', publishes: false },
  { what: 'that counts their changes', migration: 'PartitionRevisions', publishes: true },
];

// This version's server stands in for the version before; it publishes only where partitions are written down already.
describe.each(MIGRATIONS)(
  'the migration $what, while a server of the version before is at work',
  ({ migration, publishes }) => {
    const service = aService({ mode: 'full' })
      .source('published', { kind: 'managed' })
      .source('files', { servers: [], claims: { team: 'files' } })
      .registry('main', { sources: ['published', 'files'] })
      .runs();
    const admin = () => service.as(SUPER_ADMIN);
    const shownTo = async (team: string) => versionsIn(await service.as({ team }).get(listAt('server')));
    const stateOf = async (source: string) =>
      ((await admin().get(`/v1/sources/${source}`)).json as { sync: { status: string } }).sync.status;
    let owner: DataSource;
    const isApplied = async (prefix: string) =>
      (await migrationStatus(owner)).some(({ name, applied }) => applied && name.startsWith(prefix));

    beforeAll(async () => {
      owner = createDataSource({ ...service.database.connection, poolMax: 2 }, [], () => undefined);
      await owner.initialize();
    });
    afterAll(() => owner.destroy());
    beforeEach(async () => {
      while (await isApplied(migration)) await migrateDown(owner);
    });

    /** The writer is stopped at the door of a table and let go on once the migration waits for it. */
    async function migratedWhile<T>(write: () => Promise<T>, stoppedAt: string): Promise<T> {
      const { database } = service;
      await database.query('begin');
      await database.query(`lock table ${stoppedAt} in share mode`);
      const writing = write();
      let migrating: Promise<unknown> | undefined;
      try {
        await expect.poll(() => waiting('RowExclusiveLock'), patience).toEqual([stoppedAt]);
        migrating = migrateUp(owner);
        await expect.poll(() => waiting('ShareRowExclusiveLock'), patience).toHaveLength(1);
      } finally {
        await database.query('commit');
      }
      const [written] = await Promise.all([writing, migrating]);
      return written;
    }

    /** The tables that somebody waits for in this mode. */
    async function waiting(mode: string): Promise<string[]> {
      const rows = await service.database.query<{ name: string }>(
        `select relation::regclass::text as name from pg_locks where not granted and locktype = 'relation' and mode = $1`,
        [mode],
      );
      return rows.map(({ name }) => name);
    }

    it.runIf(publishes).each(['entry', 'entry_version'])(
      'waits for a publication that has yet to write its %s, and knows it then',
      async (table) => {
        const [name, team] = [aName(), `of ${table}`];
        const publication = aPublication('server', name, { team });
        const reply = await migratedWhile(() => admin().post('/v1/entries', publication), table);
        expect({ status: reply.status, text: reply.text }).toMatchObject({ status: 201 });
        expect(await shownTo(team)).toEqual([`${name}@1.0.0`]);
        expect(await shownTo('another')).toEqual([]);
      },
    );

    it.runIf(publishes)('waits for new claims of an entry, and knows them then', async () => {
      const name = aName();
      await publish(admin(), 'server', name, { team: 'before' });
      const relabel = () => admin().put(entryAt('server', name, '/claims'), { claims: { team: 'after' } });
      expect((await migratedWhile(relabel, 'entry')).status).toBe(204);
      expect(await shownTo('before')).toEqual([]);
      expect(await shownTo('after')).toEqual([`${name}@1.0.0`]);
    });

    it('waits for a sync, and knows the first entries of its source then', async () => {
      await service.rewrite('files', { servers: [aServer('io.acme/filed')] });
      await migratedWhile(() => admin().post('/v1/sources/files/sync'), 'entry_version');
      await expect.poll(() => stateOf('files'), patience).not.toBe('syncing');
      expect(await stateOf('files')).toBe('complete');
      expect(await shownTo('files')).toEqual(['io.acme/filed@1.0.0']);
    });
  },
);
