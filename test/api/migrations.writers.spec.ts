import type { DataSource } from 'typeorm';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { inMigrationTransaction } from '../../dist/database/migrate.js';
import { createDataSource } from '../../dist/database/open-database.js';
import { SourcePartitions1795600000000 as SourcePartitions } from '../../dist/migrations/1795600000000-source-partitions.js';
import { PartitionRevisions1796100000000 as PartitionRevisions } from '../../dist/migrations/1796100000000-partition-revisions.js';
import { SUPER_ADMIN } from '../support/callers.js';
import { aServer } from '../support/documents.js';
import { versionsIn } from '../support/matchers.js';
import { aName, aPublication, entryAt, listAt, publish } from '../support/publishing.js';
import { aService } from '../support/service.js';

const patience = { interval: 20 };

const MIGRATIONS = [
  { what: 'that stores partitions', needed: [SourcePartitions, PartitionRevisions], publishes: false },
  { what: 'that counts partition changes', needed: [PartitionRevisions], publishes: true },
];

// Each migration runs alone, because the running server, which has the current version, needs the other
// migrations. It stands in for the previous version and publishes only where partitions are already stored.
describe.each(MIGRATIONS)(
  'the migration $what, while a server of the previous version is writing',
  ({ needed, publishes }) => {
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
    const migrate = (direction: 'up' | 'down') =>
      inMigrationTransaction(owner, async (runner) => {
        for (const migration of direction === 'up' ? needed : [...needed].reverse())
          await new migration()[direction](runner);
      });

    beforeAll(async () => {
      owner = createDataSource({ ...service.database.connection, poolMax: 2 }, [], () => undefined);
      await owner.initialize();
    });
    afterAll(() => owner.destroy());
    beforeEach(() => migrate('down'));

    /**
     * Blocks the writer at a table, starts the migration, and releases the writer once the migration waits.
     */
    async function migratedWhile<T>(write: () => Promise<T>, stoppedAt: string): Promise<T> {
      const { database } = service;
      await database.query('begin');
      await database.query(`lock table ${stoppedAt} in share mode`);
      const writing = write();
      let migrating: Promise<unknown> | undefined;
      try {
        await expect.poll(() => waiting('RowExclusiveLock'), patience).toEqual([stoppedAt]);
        migrating = migrate('up');
        await expect.poll(() => waiting('ShareRowExclusiveLock'), patience).toHaveLength(1);
      } finally {
        await database.query('commit');
      }
      const [written] = await Promise.all([writing, migrating]);
      return written;
    }

    /** The tables on which a session waits for this lock mode. */
    async function waiting(mode: string): Promise<string[]> {
      const rows = await service.database.query<{ name: string }>(
        `select relation::regclass::text as name from pg_locks where not granted and database = (select oid from pg_database where datname = current_database()) and locktype = 'relation' and mode = $1`,
        [mode],
      );
      return rows.map(({ name }) => name);
    }

    it.each(publishes ? ['entry', 'entry_version'] : [])(
      'waits for a publication that has yet to write its %s, and includes it',
      async (table) => {
        const [name, team] = [aName(), `of ${table}`];
        const publication = aPublication('server', name, { team });
        const reply = await migratedWhile(() => admin().post('/v1/entries', publication), table);
        expect({ status: reply.status, text: reply.text }).toMatchObject({ status: 201 });
        expect(await shownTo(team)).toEqual([`${name}@1.0.0`]);
        expect(await shownTo('another')).toEqual([]);
      },
    );

    it.each(publishes ? ['entry'] : [])(
      'waits for a change of claims of an %s, and includes it',
      async (table) => {
        const name = aName();
        await publish(admin(), 'server', name, { team: 'before' });
        const relabel = () => admin().put(entryAt('server', name, '/claims'), { claims: { team: 'after' } });
        expect((await migratedWhile(relabel, table)).status).toBe(204);
        expect(await shownTo('before')).toEqual([]);
        expect(await shownTo('after')).toEqual([`${name}@1.0.0`]);
      },
    );

    it('waits for a sync, and includes the first entries of its source', async () => {
      await service.rewrite('files', { servers: [aServer('io.acme/filed')] });
      await migratedWhile(() => admin().post('/v1/sources/files/sync'), 'entry_version');
      await expect.poll(() => stateOf('files'), patience).not.toBe('syncing');
      expect(await stateOf('files')).toBe('complete');
      expect(await shownTo('files')).toEqual(['io.acme/filed@1.0.0']);
    });
  },
);
