import pg from 'pg';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { decide, itemsFor, passTime, served, shortly } from '../support/admission.js';
import { aServer } from '../support/documents.js';
import { aService } from '../support/service.js';
import { within } from '../support/within.js';

const PATIENCE = 30_000;
const EVIL = aServer('com.evil/a');
const GOOD = aServer('com.good/a');
const RULE = { names: ['com.evil/*'], reason: 'SEC-1' };

describe('a block set while versions are being written', () => {
  const service = aService()
    .source('mirror', { servers: [GOOD] })
    .source('curated', { servers: [GOOD], admission: { rules: [{ names: ['com.held/*'], action: 'hold' }] } })
    .source('young', { servers: [GOOD], admission: { rules: [{ names: ['com.young/*'], minAge: '7d' }] } })
    .registry('main', { sources: ['mirror', 'curated', 'young'] })
    .runs();
  const replica = () => service.replica();
  let other: ReturnType<typeof replica>;
  let rival: pg.Client;
  beforeAll(async () => {
    other = replica();
    await other.start();
    rival = new pg.Client(service.database.connection);
    await rival.connect();
    for (const name of ['mirror', 'curated', 'young']) await service.synced(name);
  });
  afterAll(async () => {
    await rival.end();
    await other.stop();
  });

  /**
   * Keeps a transaction that adds this entry waiting until `goOn`: another transaction is adding it, which does not
   * lock the source.
   */
  const stopAt = async (source: string, name: string) => {
    await rival.query('begin');
    await rival.query('set local session_replication_role = replica');
    await rival.query(
      `insert into entry (source_id, type, name, claim_set_id)
       select s.id, 'server', $2, s.claim_set_id from source s where s.name = $1`,
      [source, name],
    );
    return {
      isReached: () =>
        within(PATIENCE, async () =>
          expect(
            await service.database.query(
              `select from pg_locks where not granted and locktype = 'transactionid'`,
            ),
          ).not.toEqual([]),
        ),
      goOn: () => rival.query('rollback'),
    };
  };
  const startSync = async (source: string, ...servers: unknown[]) => {
    await service.rewrite(source, { servers });
    expect((await service.post(`/v1/sources/${source}/sync`)).status).toBe(202);
  };
  const ruleIsWritten = (count: number) =>
    within(PATIENCE, async () =>
      expect(await service.database.query(`select from block where id = 'sec-1'`)).toHaveLength(count),
    );
  const put = () => service.put('/v1/blocks/sec-1', RULE);
  const remove = () => service.delete('/v1/blocks/sec-1');
  const everywhere = async () => {
    const [here, there] = await Promise.all([served(service), served(other)]);
    expect(there).toEqual(here);
    return here;
  };

  it('does not wait for a sync, which then holds matching versions', async () => {
    const stop = await stopAt('mirror', 'com.new/a');
    await startSync('mirror', GOOD, EVIL, aServer('com.new/a'));
    await stop.isReached();
    expect((await put()).status).toBe(201);
    await stop.goOn();
    await within(PATIENCE, async () => expect(await everywhere()).toContain('com.new/a@1.0.0'));
    expect(await everywhere()).not.toContain('com.evil/a@1.0.0');
    expect(shortly(await itemsFor(service))).toEqual(['com.evil/a@1.0.0: block']);
    expect((await service.get('/v1/sources/mirror')).json).toMatchObject({
      sync: { counts: { entries: 2, held: 1 } },
    });
    expect((await remove()).status).toBe(204);
    expect(await everywhere()).toContain('com.evil/a@1.0.0');
    expect((await service.get('/v1/sources/mirror')).json).toMatchObject({
      sync: { status: 'complete', counts: { entries: 3, held: 0 } },
    });
  });

  it('interrupts a sync of matching versions, which starts again', async () => {
    expect(await everywhere()).toContain('com.evil/a@1.0.0');
    const stop = await stopAt('mirror', 'com.new/b');
    await startSync('mirror', GOOD, EVIL, aServer('com.new/b'));
    await stop.isReached();
    expect((await put()).status).toBe(201);
    expect(await everywhere()).toEqual(['com.good/a@1.0.0', 'com.new/a@1.0.0']);
    await stop.goOn();
    await within(PATIENCE, async () =>
      expect(await everywhere()).toEqual(['com.good/a@1.0.0', 'com.new/b@1.0.0']),
    );
    expect((await service.get('/v1/sources/mirror')).json).toMatchObject({
      sync: { status: 'complete', attempts: 0, counts: { held: 1 } },
    });
  });

  it('does not wait for a replica that stopped between two statements', async () => {
    expect(await everywhere()).toContain('com.new/b@1.0.0');
    const stopped = new pg.Client(service.database.connection);
    const ended = new Promise((resolve) => stopped.on('error', resolve));
    await stopped.connect();
    await stopped.query('begin');
    await stopped.query(
      `select pg_advisory_xact_lock(726401, id) from source where name = 'mirror' for update`,
    );
    expect((await service.put('/v1/blocks/sec-2', { names: ['com.new/b'], reason: 'SEC-2' })).status).toBe(
      201,
    );
    expect(await everywhere()).not.toContain('com.new/b@1.0.0');
    await ended;
    expect((await service.delete('/v1/blocks/sec-2')).status).toBe(204);
    expect(await everywhere()).toContain('com.new/b@1.0.0');
  });

  it('is in force even if a source stays locked, and is applied to it later', async () => {
    const [stuck, free] = [aServer('com.stuck/a'), aServer('com.stuck/b')];
    for (const [name, server] of [
      ['mirror', stuck],
      ['curated', free],
    ] as const) {
      await service.rewrite(name, { servers: [GOOD, server] });
      await service.synced(name);
    }
    expect(await everywhere()).toEqual(expect.arrayContaining(['com.stuck/a@1.0.0', 'com.stuck/b@1.0.0']));
    // This is not a bulk write, so nothing may interrupt it.
    await rival.query(`begin; select from source where name = 'mirror' for update`);
    const { status } = await service.put('/v1/blocks/sec-3', { names: ['com.stuck/*'], reason: 'SEC-3' });
    expect(status).toBe(201);
    expect(await everywhere()).not.toContain('com.stuck/b@1.0.0');
    await rival.query('rollback');
    // Replicas apply changes that have been pending for a while.
    await service.database.query(`update block_change set created_at = now() - interval '1 minute'`);
    await within(PATIENCE, async () => expect(await everywhere()).not.toContain('com.stuck/a@1.0.0'));
    expect((await service.delete('/v1/blocks/sec-3')).status).toBe(204);
    await within(PATIENCE, async () =>
      expect(await everywhere()).toEqual(expect.arrayContaining(['com.stuck/a@1.0.0', 'com.stuck/b@1.0.0'])),
    );
  });

  it('that is deleted during a sync holds no versions of that sync', async () => {
    const stop = await stopAt('mirror', 'com.new/c');
    await startSync('mirror', GOOD, aServer('com.evil/b'), aServer('com.new/c'));
    await stop.isReached();
    const removed = remove();
    await ruleIsWritten(0);
    await stop.goOn();
    expect((await removed).status).toBe(204);
    await within(PATIENCE, async () =>
      expect(await everywhere()).toEqual(expect.arrayContaining(['com.evil/b@1.0.0', 'com.new/c@1.0.0'])),
    );
    expect(await itemsFor(service)).toEqual([]);
  });

  it('also holds versions that are approved while it is being written', async () => {
    await startSync('curated', GOOD, aServer('com.held/a'), aServer('com.held/b'));
    await within(PATIENCE, async () => expect(await itemsFor(service, '?source=curated')).toHaveLength(2));
    const items = await itemsFor(service, '?source=curated');
    const stop = await stopAt('curated', 'com.held/a');
    const [first, second] = ['com.held/a', 'com.held/b'].map((name) =>
      items.find((item) => item.name === name),
    );
    if (!first || !second) throw new Error('Nothing is held');
    const approved = decide(service, first, 'approve');
    await stop.isReached();
    const blocked = service.put('/v1/blocks/sec-1', { names: ['com.held/a'], reason: 'SEC-1' });
    await ruleIsWritten(1);
    await stop.goOn();
    expect((await approved).status).toBe(200);
    expect((await blocked).status).toBe(201);
    expect((await decide(service, second, 'approve')).json).toMatchObject({ status: 'admitted' });
    expect((await everywhere()).filter((name) => name.startsWith('com.held'))).toEqual(['com.held/b@1.0.0']);
    expect(shortly(await itemsFor(service, '?source=curated'))).toEqual(['com.held/a@1.0.0: block']);
    expect((await remove()).status).toBe(204);
    expect(await everywhere()).toContain('com.held/a@1.0.0');
  });

  it('interrupts the release of due versions', async () => {
    await startSync('young', GOOD, aServer('com.young/a'), aServer('com.young/b'));
    await within(PATIENCE, async () => expect(await itemsFor(service, '?source=young')).toHaveLength(2));
    const stop = await stopAt('young', 'com.young/a');
    await passTime(service, '8d');
    await stop.isReached();
    const blocked = await service.put('/v1/blocks/sec-1', { names: ['com.young/b'], reason: 'SEC-1' });
    expect(blocked.status).toBe(201);
    await stop.goOn();
    await within(PATIENCE, async () => expect(await everywhere()).toContain('com.young/a@1.0.0'));
    expect(await everywhere()).not.toContain('com.young/b@1.0.0');
    expect((await remove()).status).toBe(204);
    await passTime(service, '8d');
    await within(PATIENCE, async () => expect(await everywhere()).toContain('com.young/b@1.0.0'));
    expect((await service.get('/v1/sources/young')).json).toMatchObject({
      sync: { counts: { entries: 3, held: 0 } },
    });
  });

  it('is applied by another replica if the one that wrote it has stopped', async () => {
    await service.database.query(`insert into block (id, rule) values ('sec-1', $1)`, [RULE]);
    await service.database.query(
      `insert into block_change (id, block, created_at) values (gen_random_uuid(), 'sec-1', now() - interval '1 minute')`,
    );
    await within(PATIENCE, async () =>
      expect((await everywhere()).filter((name) => name.startsWith('com.evil'))).toEqual([]),
    );
    await within(PATIENCE, async () =>
      expect(await service.database.query(`select from block_change`)).toEqual([]),
    );
  });
});
