import pg from 'pg';
import { describe, expect, it } from 'vitest';
import { canonicalClaims } from '../../dist/claims/claims.js';
import { decide, type Item, itemsFor, served } from '../support/admission.js';
import { SUPER_ADMIN } from '../support/callers.js';
import { aServer } from '../support/documents.js';
import type { Reply } from '../support/http.js';
import { aWebhookSecret, Receiver } from '../support/receiver.js';
import { aService } from '../support/service.js';
import { within } from '../support/within.js';

const ACME = { org: 'acme' };
/** No entry has these yet. */
const NEW_CLAIMS = { org: 'acme', team: 'new' };
const WRITER = { sub: 'wim', org: 'acme', team: 'new', lane: ['a', 'b'], role: 'writer' };
const REVIEWER = { sub: 'rita', org: 'acme', team: 'new', lane: 'a', desk: 'review' };
const PATIENCE = 20_000;

describe('admitting a publication while others publish', () => {
  const receiver = new Receiver().runs();
  const service = aService({ mode: 'full' })
    .source('internal', {
      kind: 'managed',
      settings: { review: [{ names: ['com.acme/reviewed-*'], reviewers: { desk: 'review' } }] },
      claims: ACME,
    })
    .registry('main', { sources: ['internal'], claims: {} })
    .runs();
  const publish = (name: string, version: string, claims: object) =>
    service.as(WRITER).post('/v1/entries', { server: aServer(name, version), claims });
  const heldOf = async (name: string): Promise<Item> => {
    const [item] = await itemsFor(service.as(WRITER), `?mine=true&name=${encodeURIComponent(name)}`);
    if (!item) throw new Error(`${name} is not held`);
    return item;
  };
  const isWaiting = (count: number) =>
    within(PATIENCE, async () => {
      // The view stays as it was first read within a transaction.
      await service.database.query('select pg_stat_clear_snapshot()');
      const waiting = `select pid from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`;
      expect(await service.database.query(waiting)).toHaveLength(count);
    });
  /** Starts these one after another, waiting until each waits for the source, then lets them continue. */
  const together = async <T>(...steps: (() => Promise<T>)[]): Promise<T[]> => {
    await service.database.query('begin');
    await service.database.query(`select id from source where name = 'internal' for no key update`);
    const started: Promise<T>[] = [];
    for (const step of steps) {
      started.push(step());
      await isWaiting(started.length);
    }
    await service.database.query('commit');
    return Promise.all(started);
  };

  it('works for a reviewer while the same new claims are published', async () => {
    expect((await publish('com.acme/reviewed-a', '1.0.0', NEW_CLAIMS)).status).toBe(202);
    const item = await heldOf('com.acme/reviewed-a');
    const [approved, published] = await together(
      () => decide(service.as(REVIEWER), item, 'approve'),
      () => publish('com.acme/free', '1.0.0', NEW_CLAIMS),
    );
    expect([approved?.status, published?.status]).toEqual([200, 201]);
  });

  /** Changes the source and adds claims, while another request waits for the source. */
  const changeSource = async <T>(claims: Record<string, string>, request: () => Promise<T>): Promise<T> => {
    await service.database.query(`delete from claim_set where claims = $1`, [claims]);
    await service.database.query('begin');
    await service.database.query(`select id from source where name = 'internal' for update`);
    const requested = request();
    await isWaiting(1);
    await service.database.query(
      `insert into claim_set (claims, digest) values ($1, sha256(convert_to($2, 'UTF8'))) on conflict do nothing`,
      [claims, canonicalClaims(claims)],
    );
    await service.database.query('commit');
    return requested;
  };

  it('approves a publication once a change to the source has added the same claims', async () => {
    const claims = { lane: 'a' };
    expect((await publish('com.acme/reviewed-b', '1.0.0', claims)).status).toBe(202);
    const item = await heldOf('com.acme/reviewed-b');
    const approved = await changeSource(claims, () => decide(service.as(REVIEWER), item, 'approve'));
    expect(approved.status).toBe(200);
  });

  it('restores what a block held once a change to the source has added the same claims', async () => {
    const claims = { lane: 'b' };
    const admin = service.as(SUPER_ADMIN);
    expect((await publish('com.acme/blocked', '1.0.0', claims)).status).toBe(201);
    await admin.put('/v1/blocks/one', { names: ['com.acme/blocked'], reason: 'x' });
    const deleted = await changeSource(claims, () => admin.delete('/v1/blocks/one'));
    expect(deleted.status).toBe(204);
    expect(await served(service.as(WRITER))).toContain('com.acme/blocked@1.0.0');
  });

  it('works for due versions while another version of the entry is published', async () => {
    const name = 'com.acme/scanned';
    expect((await publish(name, '1.0.0', ACME)).status).toBe(201);
    const secretFile = service.write('secret', aWebhookSecret());
    const webhooks = [{ name: 'scan', url: receiver.url, secretFile }];
    await service.reload((edited) => edited.configuration({ admission: { webhooks } }));
    receiver.answer = ({ body }) => ({
      status: 200,
      body: JSON.stringify({ outcome: body.includes('"version":"1.1.0"') ? 'hold' : 'admit' }),
    });
    expect((await publish(name, '1.1.0', ACME)).status).toBe(202);
    const isDue = `update admission_item set due_at = now(), reasons = '[]' where id = $1`;
    const { id } = await heldOf(name);
    const other = new pg.Client(service.database.connection);
    await other.connect();
    const [, published] = await together<Reply | undefined>(
      // Waits until the source is locked: otherwise the version would be admitted immediately.
      async () => void (await other.query(isDue, [id])),
      () => publish(name, '1.2.0', ACME),
    );
    await other.end();
    expect(published?.status).toBe(201);
    await within(PATIENCE, async () =>
      expect(await served(service.as(WRITER))).toEqual(
        expect.arrayContaining([`${name}@1.1.0`, `${name}@1.2.0`]),
      ),
    );
  });
});
