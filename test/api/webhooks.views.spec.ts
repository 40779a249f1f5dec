import { beforeEach, describe, expect, it } from 'vitest';
import { SUPER_ADMIN } from '../support/callers.js';
import { aServer, type Document } from '../support/documents.js';
import { aWebhookSecret, Receiver } from '../support/receiver.js';
import { aService } from '../support/service.js';
import { within } from '../support/within.js';

const secret = aWebhookSecret();
const receiver = new Receiver().runs();
const acme = { org: 'acme' };
const service = aService({ mode: 'full' })
  .source('tools', { servers: [aServer('com.acme/tool')], claims: acme })
  .source('published', { kind: 'managed' })
  .registry('main', { sources: ['tools', 'published'], claims: acme })
  .registry('other', { sources: ['published'], claims: { org: 'contoso' } })
  .runs();
const admin = () => service.as(SUPER_ADMIN);
const team = (more: Document = {}): Document => ({
  name: 'team',
  url: receiver.url,
  secretFile: service.write('secret', secret),
  as: { claims: acme, registry: 'main' },
  ...more,
});
const configure = (...webhooks: Document[]) => service.reload((edited) => edited.configuration({ webhooks }));
const publish = async (name: string, version = '1.0.0', claims: Document = acme) => {
  const reply = await admin().post('/v1/entries', { server: aServer(name, version), claims });
  expect(reply.status).toBe(201);
};
const path = (name: string) => `/v1/entries/server/${encodeURIComponent(name)}`;
const relabel = async (name: string, claims: Document) =>
  expect((await admin().put(`${path(name)}/claims`, { claims })).status).toBe(204);
const remove = async (name: string, version = '1.0.0') =>
  expect((await admin().send('DELETE', `${path(name)}/versions/${version}`)).status).toBe(204);
/** Waits until the webhook has handled every event. */
const caughtUp = () =>
  within(20_000, async () => {
    const rows = await service.database.query(
      `select 1 from webhook w where followed is not null and until is null and not exists (
         select from audit_event where transaction >= pg_snapshot_xmin(w.past::pg_snapshot)::text::bigint
           and not pg_visible_in_snapshot(transaction::text::xid8, w.past::pg_snapshot) and transaction <> w.configured_in)`,
    );
    expect(rows).toHaveLength(1);
  });
/** Ends the pause after a failed delivery. */
const retryNow = () =>
  service.database.query(`update webhook set next_attempt_at = now() where attempts > 0`);
/** The messages sent since the last call. */
const sent = async () => {
  await caughtUp();
  return receiver.deliveries.splice(0).map(({ event }) => `${event.type} ${event.subject}`);
};

let names = 0;
const aName = () => `com.acme/v${(names += 1)}`;

beforeEach(async () => {
  await configure();
  receiver.answer = () => undefined;
  await configure(team());
  await sent();
});

describe('a webhook with `as`', () => {
  it('receives the first version, the last and the changes in between, without actor and previous state', async () => {
    const name = aName();
    await publish(name);
    await caughtUp();
    const [added, published] = receiver.deliveries.map(({ event }) => event);
    expect(added).toMatchObject({
      id: `${published?.id}/server/${name}`,
      type: 'entry.added',
      subject: `server/${name}`,
      time: published?.time,
      data: { type: 'server', name },
    });
    expect(published?.data).toMatchObject({ action: 'entry.publish', change: { after: {} } });
    expect(Object.keys(published?.data ?? {})).not.toContain('actor');
    await publish(name, '2.0.0');
    await relabel(name, { org: ['acme'] });
    expect(await sent()).toEqual([
      `entry.added server/${name}`,
      `entry.publish server/${name}@1.0.0`,
      `entry.publish server/${name}@2.0.0`,
      `entry.claims.update server/${name}`,
    ]);
    await remove(name);
    expect(await sent()).toEqual([`entry.delete server/${name}@1.0.0`]);
    await remove(name, '2.0.0');
    expect(await sent()).toEqual([`entry.removed server/${name}`]);
  });

  it('receives nothing about entries that its caller does not see', async () => {
    const name = aName();
    await publish(name, '1.0.0', { org: 'contoso' });
    await publish(name, '2.0.0', { org: 'contoso' });
    await admin().put('/v1/registries/made', { sources: ['published'], claims: { org: 'contoso' } });
    // Shadowed by the source `tools`.
    await publish('com.acme/tool', '9.0.0');
    expect(await sent()).toEqual([]);
    await remove('com.acme/tool', '9.0.0');
    await admin().send('DELETE', '/v1/registries/made');
    expect(await sent()).toEqual([]);
  });

  it('receives entries that changed claims add or remove, without the previous state', async () => {
    const name = aName();
    await publish(name, '1.0.0', { org: 'contoso' });
    await relabel(name, acme);
    await caughtUp();
    expect(JSON.stringify(receiver.deliveries)).not.toContain('contoso');
    expect(await sent()).toEqual([`entry.added server/${name}`, `entry.claims.update server/${name}`]);
    await relabel(name, { org: 'contoso' });
    await caughtUp();
    expect(JSON.stringify(receiver.deliveries)).not.toContain('"after"');
    expect(await sent()).toEqual([`entry.removed server/${name}`]);
  });

  it('receives the entries that a sync, a gate or a reload adds or removes, whatever its `actions` are', async () => {
    await configure(team({ actions: ['entry.status'] }));
    await service.rewrite('tools', { servers: [aServer('com.acme/tool'), aServer('com.acme/synced')] });
    await service.synced('tools');
    expect(await sent()).toEqual(['entry.added server/com.acme/synced']);
    await service.reload((edited) =>
      edited.registry('main', { sources: ['tools', 'published'], claims: { org: 'contoso' } }),
    );
    expect((await sent()).every((one) => one.startsWith('entry.removed '))).toBe(true);
    await service.reload((edited) =>
      edited.registry('main', { sources: ['tools', 'published'], claims: acme }),
    );
    const back = await sent();
    expect(back).toContain('entry.added server/com.acme/synced');
    expect(back.every((one) => one.startsWith('entry.added '))).toBe(true);
    await service.rewrite('tools', { servers: [aServer('com.acme/tool')] });
    await service.synced('tools');
    expect(await sent()).toEqual(['entry.removed server/com.acme/synced']);
  });

  it('receives nothing about an entry that is hidden by the time its receiver works again', async () => {
    // It is not tried again until it is resumed.
    receiver.answer = () => ({ status: 500, headers: { 'retry-after': '3600' } });
    const name = aName();
    await publish(name);
    await within(20_000, async () =>
      expect((await admin().get('/v1/webhooks')).json).toMatchObject({ webhooks: [{ status: 'retrying' }] }),
    );
    await relabel(name, { org: 'contoso' });
    receiver.answer = () => undefined;
    receiver.deliveries.length = 0;
    expect((await admin().post('/v1/webhooks/team/resume')).status).toBe(204);
    expect(await sent()).toEqual([]);
  });

  it('loses no change made by a sync if its receiver fails in between', async () => {
    const many = Array.from({ length: 30 }, () => aServer(aName()));
    receiver.answer = (_, count) => (count === 5 ? { status: 500 } : undefined);
    await service.rewrite('tools', { servers: [aServer('com.acme/tool'), ...many] });
    await service.synced('tools');
    // Only the sync may cause another comparison.
    await within(20_000, async () => {
      await retryNow();
      const added = receiver.received().filter((one) => one.startsWith('entry.added '));
      expect(new Set(added).size).toBe(many.length);
    });
    receiver.answer = () => undefined;
    await sent();
    await service.rewrite('tools', { servers: [aServer('com.acme/tool')] });
    await service.synced('tools');
    expect((await sent()).sort()).toEqual(many.map(({ name }) => `entry.removed server/${name}`).sort());
  });

  it('resends the event that added an entry if it failed after `entry.added`', async () => {
    const name = aName();
    receiver.answer = ({ event }, count) =>
      event.type === 'entry.publish' && count === 2 ? { status: 500 } : undefined;
    await publish(name);
    await within(20_000, async () => {
      await retryNow();
      expect(receiver.deliveries.length).toBeGreaterThan(2);
    });
    expect(await sent()).toEqual([
      `entry.added server/${name}`,
      `entry.publish server/${name}@1.0.0`,
      `entry.publish server/${name}@1.0.0`,
    ]);
  });

  it('follows every registry that its claims may enter, unless one is configured', async () => {
    await configure(team({ as: { claims: { org: 'contoso' } } }));
    await sent();
    const name = aName();
    await publish(name, '1.0.0', { org: 'contoso' });
    expect(await sent()).toEqual([`entry.added server/${name}`, `entry.publish server/${name}@1.0.0`]);
  });
});
