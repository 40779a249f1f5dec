import { describe, expect, it } from 'vitest';
import { DATABASE_EPOCH } from '../../dist/visibility/freshness.queries.js';
import { SUPER_ADMIN } from '../support/callers.js';
import { aDatabase } from '../support/database.js';
import { versionsIn } from '../support/matchers.js';
import { listAt, publish } from '../support/publishing.js';
import { aService } from '../support/service.js';

const LIST = listAt('server');

interface Numbers {
  readonly claimSet: number;
  /** Last value of the claim set sequence. */
  readonly given: string;
  readonly revision: string;
}

describe('a database restored beneath a running server', () => {
  const service = aService({ mode: 'full' })
    .source('published', { kind: 'managed' })
    .registry('main', { sources: ['published'] })
    .runs();
  const shownTo = async (team: string) => versionsIn(await service.as({ team }).get(LIST));

  it('does not show a caller an entry that reuses the ids of one they saw', async () => {
    const before = await numbers();
    await publish(service.as(SUPER_ADMIN), 'server', 'io.acme/one', { team: 'red' });
    expect(await shownTo('red')).toEqual(['io.acme/one@1.0.0']);
    expect(await shownTo('blue')).toEqual([]);
    const first = await numbers();
    await restore(before.claimSet, before.given);
    await publish(service.as(SUPER_ADMIN), 'server', 'io.acme/two', { team: 'blue' });
    expect(await numbers()).toEqual(first);
    expect(await shownTo('red')).toEqual([]);
    expect(await shownTo('blue')).toEqual(['io.acme/two@1.0.0']);
  });

  /** The numbers that repeat after a restore. */
  async function numbers(): Promise<Numbers> {
    const [row] = await service.database.query<Numbers>(
      `select (select max(id) from claim_set) as "claimSet", (select last_value from claim_set_id_seq) as given, revision
       from source`,
    );
    if (!row) throw new Error('There is no source');
    return row;
  }

  // Does what pg_restore does: recreates tables, and resets sequences to their values at the dump.
  async function restore(claimSet: number, given: string): Promise<void> {
    const { database } = service;
    await database.query('truncate entry, entry_version, source_partition cascade');
    await database.query('delete from claim_set where id > $1', [claimSet]);
    await database.query(`select setval(pg_get_serial_sequence('claim_set', 'id'), $1)`, [given]);
    await database.query('update source set revision = 0');
  }
});

it('the database epoch differs between copies of a database', async () => {
  const copies = [await aDatabase(), await aDatabase()];
  const epochs = copies.map((copy) => copy.query<{ as: string }>(`select ${DATABASE_EPOCH} as "as"`));
  const [one, other] = await Promise.all(epochs);
  for (const copy of copies) await copy.drop();
  expect(one).not.toEqual(other);
});

it('the database epoch does not depend on the time zone of the connection', async () => {
  const database = await aDatabase();
  const epochs: unknown[] = [];
  for (const zone of ['UTC', 'Asia/Tokyo']) {
    await database.query(`set time zone '${zone}'`);
    epochs.push(await database.query(`select ${DATABASE_EPOCH} as "as"`));
  }
  await database.drop();
  expect(epochs[0]).toEqual(epochs[1]);
});
