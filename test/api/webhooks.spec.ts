import pg from 'pg';
import { Webhook, WebhookVerificationError } from 'standardwebhooks';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { outcomeOf } from '../support/answers.js';
import { type AuditEvent, auditOf } from '../support/audit.js';
import { SUPER_ADMIN } from '../support/callers.js';
import { aServer, type Document } from '../support/documents.js';
import { figuresIn } from '../support/figures.js';
import { call } from '../support/http.js';
import { aWebhookSecret, type CloudEventJson, type Delivered, Receiver } from '../support/receiver.js';
import { aService } from '../support/service.js';
import { StatementTap } from '../support/statement-tap.js';
import { waitingStatements } from '../support/waiting-statements.js';
import { within } from '../support/within.js';

const SECRETS = [aWebhookSecret(), aWebhookSecret()] as const;
const TOKEN = 'a-token-in-the-path-of-the-url';
const receiver = new Receiver().runs();
const other = new Receiver().runs();
const service = aService({ mode: 'full' })
  .source('published', { kind: 'managed' })
  .registry('main', { sources: ['published'], claims: {} })
  .runs();

const admin = () => service.as(SUPER_ADMIN);
const siem = (more: Document = {}): Document => ({
  name: 'siem',
  url: receiver.url,
  secretFile: service.write('secret', SECRETS[0]),
  actions: ['entry.*'],
  ...more,
});
const configure = (...webhooks: Document[]) => service.reload((edited) => edited.configuration({ webhooks }));
const publish = async (name: string, version = '1.0.0') => {
  const server = aServer(name, version);
  const reply = await admin().post('/v1/entries', { server, claims: { org: 'acme' } });
  expect(reply.status).toBe(201);
};
const arrived = (count: number, at = receiver) =>
  within(20_000, () => expect(at.deliveries.length).toBeGreaterThanOrEqual(count));
const verify = ({ body, headers }: Delivered, secret: string) =>
  new Webhook(secret).verify(body, headers as Record<string, string>);

/** Other tests' last deliveries may still arrive. */
const failOnce = (
  name: string,
  version: string,
  answer: { status: number; headers?: Record<string, string> },
) => {
  let hasFailed = false;
  receiver.answer = ({ event }) => {
    // The message of an earlier test's webhook may have no target.
    const { target } = event.data as Partial<typeof event.data>;
    if (hasFailed || target?.name !== name || target.version !== version) return undefined;
    hasFailed = true;
    return answer;
  };
};

/** The number of failures since the last delivery that succeeded, and the seconds until the next attempt. */
const nextAttempt = async () => {
  const [row] = await service.database.query<{ attempts: number; seconds: number | null }>(
    `select attempts, extract(epoch from next_attempt_at - now())::float8 as seconds from webhook where name = 'siem'`,
  );
  return row ?? { attempts: 0, seconds: null };
};

let names = 0;
const aName = () => `com.acme/s${(names += 1)}`;

beforeEach(async () => {
  await configure();
  for (const one of [receiver, other]) {
    one.answer = () => undefined;
    one.deliveries.length = 0;
  }
});

describe('a webhook', () => {
  it('begins with the first event after it was configured', async () => {
    await publish(aName());
    expect((await configure(siem({ actions: undefined }))).changes).toEqual(['webhook siem: created']);
    const name = aName();
    await publish(name);
    await arrived(1);
    expect(receiver.received()).toEqual([`entry.publish server/${name}@1.0.0`]);
  });

  it("receives the audit event as a CloudEvent without the client's address", async () => {
    await configure(siem());
    const name = aName();
    await publish(name);
    await arrived(1);
    const [{ sourceIp, ...event }] = (await auditOf(admin(), `target=${encodeURIComponent(name)}`)) as [
      AuditEvent,
    ];
    expect(sourceIp).toEqual(expect.any(String));
    const [delivered] = receiver.deliveries;
    expect(delivered?.headers).toMatchObject({ 'content-type': 'application/cloudevents+json' });
    expect(delivered?.event).toEqual({
      specversion: '1.0',
      id: event.id,
      source: 'https://registry.example.com',
      type: 'entry.publish',
      subject: `server/${name}@1.0.0`,
      time: event.time,
      datacontenttype: 'application/json',
      data: event,
    });
  });

  it('is signed by Standard Webhooks with each secret of its file, so a changed delivery is detected', async () => {
    await configure(siem({ secretFile: service.write('two', SECRETS.join('\n')) }));
    await publish(aName());
    await arrived(1);
    const [delivered] = receiver.deliveries as [Delivered];
    expect(delivered.headers['webhook-id']).toBe(delivered.event.id);
    for (const secret of SECRETS) expect(verify(delivered, secret)).toEqual(delivered.event);
    const changed: Partial<Delivered>[] = [
      { body: delivered.body.replace('acme', 'evil') },
      { headers: { ...delivered.headers, 'webhook-id': 'another' } },
      {
        headers: { ...delivered.headers, 'webhook-timestamp': String(Math.floor(Date.now() / 1_000) - 301) },
      },
    ];
    for (const change of changed)
      expect(() => verify({ ...delivered, ...change }, SECRETS[0])).toThrow(WebhookVerificationError);
    expect(() => verify(delivered, aWebhookSecret())).toThrow(WebhookVerificationError);
  });

  it('receives only the configured actions', async () => {
    await configure(
      siem({ actions: ['registry.create'] }),
      siem({ name: 'all', url: other.url, actions: undefined }),
    );
    const name = aName();
    await publish(name);
    expect((await admin().put(`/v1/registries/made${names}`, { sources: ['published'] })).status).toBe(201);
    await arrived(2, other);
    await arrived(1);
    expect(other.received()).toEqual([
      `entry.publish server/${name}@1.0.0`,
      `registry.create registry/made${names}`,
    ]);
    expect(receiver.received()).toEqual([`registry.create registry/made${names}`]);
  });

  it('keeps its place when its URL or secret changes, or the server restarts', async () => {
    await configure(siem());
    receiver.answer = () => ({ status: 500 });
    const name = aName();
    await publish(name);
    await arrived(1);
    expect((await configure(siem({ url: other.url }))).changes).toEqual(['webhook siem: changed']);
    await arrived(1, other);
    // Otherwise the restart might send it again.
    await within(20_000, async () =>
      expect((await admin().get('/v1/webhooks')).json).toMatchObject({
        webhooks: [{ status: 'active', lag: 0 }],
      }),
    );
    await service.stop();
    await service.start();
    const later = aName();
    await publish(later);
    await arrived(2, other);
    expect(other.received()).toEqual([name, later].map((one) => `entry.publish server/${one}@1.0.0`));
  });

  it('follows no redirect, and retries within 5 s', async () => {
    receiver.answer = () => ({ status: 307, headers: { location: other.url } });
    await configure(siem());
    await publish(aName());
    await within(20_000, async () =>
      expect((await admin().get('/v1/webhooks')).json).toMatchObject({
        webhooks: [
          { status: 'retrying', lastError: expect.stringContaining('redirects are not followed') as string },
        ],
      }),
    );
    expect(other.deliveries).toEqual([]);
    const { attempts, seconds } = await nextAttempt();
    expect(seconds).toBeLessThanOrEqual(5 * 2 ** (attempts - 1));
  });

  it('delays neither another webhook nor a request when its receiver hangs', async () => {
    receiver.answer = () => null;
    await configure(siem(), siem({ name: 'other', url: other.url }));
    const published = [aName(), aName(), aName()];
    for (const name of published) await publish(name);
    await arrived(3, other);
    expect(other.received()).toEqual(published.map((name) => `entry.publish server/${name}@1.0.0`));
    await arrived(1);
  });

  it('retries a failed delivery first, and keeps the order of each entry', async () => {
    const name = aName();
    failOnce(name, '1.0.0', { status: 503 });
    await configure(siem());
    for (const version of ['1.0.0', '2.0.0', '3.0.0']) await publish(name, version);
    await within(20_000, async () => {
      await service.database.query(`update webhook set next_attempt_at = now() where attempts > 0`);
      expect(receiver.deliveries.length).toBeGreaterThanOrEqual(4);
    });
    const versions = receiver.deliveries.map(({ event }) => event.data.target.version);
    expect(versions).toEqual(['1.0.0', '1.0.0', '2.0.0', '3.0.0']);
  });

  it('respects Retry-After', async () => {
    const name = aName();
    failOnce(name, '1.0.0', { status: 429, headers: { 'retry-after': '600' } });
    await configure(siem());
    await publish(name);
    await within(20_000, async () => expect((await nextAttempt()).seconds).toBeGreaterThan(400));
    expect((await nextAttempt()).seconds).toBeLessThanOrEqual(600);
  });

  it('skips no event whose transaction commits after a later one', async () => {
    await configure(siem());
    const [early, late] = [aName(), aName()];
    const insert = (id: string, name: string) =>
      `insert into audit_event (id, time, action, outcome, target, event) values ('${id}', now(), 'entry.publish', 'allowed',
        '${name}', '{"action":"entry.publish","outcome":"allowed","target":{"type":"server","name":"${name}"}}')`;
    await service.database.query('begin');
    await service.database.query(insert('019aa9c1-6f0a-7d4c-9b1e-2f6a3c5d7e81', early));
    await publish(late);
    await arrived(1);
    await service.database.query('commit');
    await arrived(2);
    expect(receiver.received()).toEqual([
      `entry.publish server/${late}@1.0.0`,
      `entry.publish server/${early}`,
    ]);
  });

  it('resends the events since the last one after the database was restored in another cluster', async () => {
    await configure(siem());
    const [before, lost] = [aName(), aName()];
    await publish(before);
    await arrived(1);
    await within(20_000, async () => {
      const rows = await service.database.query(
        `select 1 from webhook where until is null and latest is not null`,
      );
      expect(rows).toHaveLength(1);
    });
    await service.database.query(`update webhook set past = '4611686018427387903:4611686018427387903:'`);
    await publish(lost);
    await arrived(2);
    expect(receiver.received().at(-1)).toBe(`entry.publish server/${lost}@1.0.0`);
  });

  it('is audited without its URL and secret', async () => {
    const url = `${receiver.url}/${TOKEN}?key=${TOKEN}`;
    await configure(siem({ url, as: { claims: { org: 'acme' } } }));
    await configure(siem({ url: receiver.url }));
    const events = (await auditOf(admin(), 'action=config.apply')).slice(0, 2);
    expect(JSON.stringify(events)).not.toContain(TOKEN);
    const shown = {
      name: 'siem',
      host: new URL(url).host,
      actions: ['entry.*'],
      retryFor: '24h',
      secret: 'set',
    };
    const followed = { ...shown, as: { claims: { org: 'acme' }, registry: null } };
    expect(events.map(({ target, change }) => ({ target, change }))).toEqual([
      {
        target: { type: 'configuration', name: 'webhooks' },
        change: {
          before: { webhooks: [{ ...followed, url: 'set' }] },
          after: { webhooks: [{ ...shown, as: null, url: 'changed' }] },
        },
      },
      {
        target: { type: 'configuration', name: 'webhooks' },
        change: { before: { webhooks: [] }, after: { webhooks: [{ ...followed, url: 'set' }] } },
      },
    ]);
    expect(service.log.join('')).not.toContain(TOKEN);
  });
});

describe('the administration of webhooks', () => {
  interface Listed {
    webhooks: Record<string, unknown>[];
    metadata: { count: number };
  }
  const listed = async () => {
    const reply = await admin().get('/v1/webhooks');
    expect(reply.status).toBe(200);
    return reply.json as Listed;
  };
  const deliveries = async (query = '') => {
    const reply = await admin().get(`/v1/webhooks/siem/deliveries${query}`);
    return reply.json as { deliveries: Document[]; metadata: { count: number; nextCursor?: string } };
  };
  const stateIs = (state: Document) =>
    within(20_000, async () => expect((await listed()).webhooks[0]).toMatchObject(state));

  it('lists webhooks with host, actions, view and status', async () => {
    const as = { claims: { org: 'acme' }, registry: 'main' };
    await configure(
      siem({ url: `${receiver.url}/${TOKEN}` }),
      siem({ name: 'team', actions: undefined, as }),
    );
    const shown = { host: new URL(receiver.url).host, status: 'active', lag: 0 };
    expect(await listed()).toEqual({
      webhooks: [
        { name: 'siem', actions: ['entry.*'], ...shown },
        { name: 'team', actions: ['*'], as, ...shown },
      ],
      metadata: { count: 2 },
    });
    const [first] = ((await admin().get('/v1/webhooks?limit=1')).json as Listed).webhooks;
    expect(first).toMatchObject({ name: 'siem' });
  });

  it('lists the last deliveries, newest first, page by page', async () => {
    const name = aName();
    // It is not tried again until it is resumed.
    failOnce(name, '2.0.0', { status: 500, headers: { 'retry-after': '3600' } });
    await configure(siem({ url: `${receiver.url}/${TOKEN}` }));
    await publish(name);
    await arrived(1);
    await publish(name, '2.0.0');
    await stateIs({ status: 'retrying', lastError: 'it responded with status 500' });
    const { deliveries: both, metadata } = await deliveries();
    const at = expect.any(String) as string;
    const type = 'entry.publish';
    const ids = receiver.deliveries.filter(({ path }) => path.endsWith(TOKEN)).map(({ event }) => event.id);
    const failed = {
      id: ids[1],
      type,
      status: 'failed',
      attempts: 1,
      at,
      error: 'it responded with status 500',
    };
    const delivered = { id: ids[0], type, status: 'delivered', attempts: 1, at };
    expect([both, metadata]).toEqual([[failed, delivered], { count: 2 }]);
    const { deliveries: one, metadata: more } = await deliveries('?limit=1');
    expect(one).toEqual([failed]);
    expect((await deliveries(`?cursor=${more.nextCursor}`)).deliveries).toEqual([delivered]);
    expect(JSON.stringify([both, await listed()])).not.toContain(TOKEN);
    expect((await admin().post('/v1/webhooks/siem/resume')).status).toBe(204);
    await arrived(3);
    await within(20_000, async () =>
      expect((await deliveries()).deliveries[0]).toMatchObject({
        id: ids[1],
        status: 'delivered',
        attempts: 2,
      }),
    );
    await stateIs({ status: 'active', lag: 0 });
  });

  it('pauses a webhook after retryFor, as metrics show; a super-admin resumes it, and nothing is lost', async () => {
    const figures = async () => figuresIn(await call(`${service.internalOrigin}/metrics`));
    const attempts = (outcome: string) =>
      `registry_webhook_deliveries_total{webhook="counted",outcome="${outcome}"}`;
    const resume = async () => expect((await admin().post('/v1/webhooks/counted/resume')).status).toBe(204);
    receiver.answer = (_, count) => (count === 1 ? undefined : { status: 500 });
    await configure(siem({ name: 'counted', retryFor: '1s' }));
    const name = aName();
    await publish(name);
    await arrived(1);
    await publish(name, '2.0.0');
    await stateIs({ status: 'paused', lastError: 'it responded with status 500' });
    await within(20_000, async () =>
      expect((await figures()).get('registry_webhook_paused{webhook="counted"}')).toBe(1),
    );
    const counted = await figures();
    const { length } = receiver.deliveries;
    expect(counted.get(attempts('delivered'))).toBe(1);
    expect(counted.get(attempts('failed'))).toBe(length - 1);
    expect(counted.get('registry_webhook_lag_seconds{webhook="counted"}')).toBeGreaterThan(0);

    await publish(name, '3.0.0');
    receiver.answer = () => undefined;
    await resume();
    await arrived(length + 2);
    await stateIs({ status: 'active' });
    await resume();
    const events = await auditOf(admin(), 'action=webhook.resume&target=counted');
    expect(events.map(({ target, change }) => ({ target, change }))).toEqual([
      {
        target: { type: 'webhook', name: 'counted' },
        change: { before: { status: 'paused' }, after: { status: 'active' } },
      },
    ]);
    const versions = receiver.deliveries.slice(length).map(({ event }) => event.data.target.version);
    expect(versions).toEqual(['2.0.0', '3.0.0']);
    await configure();
    await within(20_000, async () =>
      expect((await figures()).has('registry_webhook_lag_seconds{webhook="counted"}')).toBe(false),
    );
  });

  it('replays the events since a time, in order', async () => {
    await configure(siem());
    const name = aName();
    await publish(name);
    await publish(name, '2.0.0');
    await arrived(2);
    const [first, second] = receiver.deliveries.map(({ event }) => event) as [CloudEventJson, CloudEventJson];
    const reply = await admin().post('/v1/webhooks/siem/replay', { since: first.time });
    expect([reply.status, reply.json]).toEqual([202, expect.objectContaining({ name: 'siem' })]);
    await publish(name, '3.0.0');
    await arrived(5);
    expect(receiver.deliveries.map(({ event }) => event.data.target.version)).toEqual([
      '1.0.0',
      '2.0.0',
      '1.0.0',
      '2.0.0',
      '3.0.0',
    ]);
    expect(first.time <= second.time).toBe(true);
    const [event] = await auditOf(admin(), 'action=webhook.replay');
    expect(event).toMatchObject({
      target: { type: 'webhook', name: 'siem' },
      change: { after: { since: first.time } },
    });
  });

  it.each([
    ['replay', { since: '2026-01-01T00:00:00Z' }],
    ['resume', undefined],
  ])('refuses %s while the webhook is being removed, without an event', async (action, body) => {
    await configure(siem());
    const holder = new pg.Client(service.database.connection);
    await holder.connect();
    await holder.query('begin; lock table webhook in exclusive mode');
    await holder.query(`delete from webhook where name = 'siem'`);
    const before = await auditOf(admin(), `action=webhook.${action}`);
    const changing = admin().post(`/v1/webhooks/siem/${action}`, body);
    try {
      await expect.poll(() => waitingStatements(service.database)).toBeGreaterThan(0);
      await holder.query('commit');
    } finally {
      await holder.end();
    }
    expect(outcomeOf(await changing)).toBe('404 webhook_not_found');
    expect(await auditOf(admin(), `action=webhook.${action}`)).toEqual(before);
  });

  it('is restricted to super-admins, and refuses unknown webhooks before the body', async () => {
    await configure(siem());
    const routes: ['GET' | 'POST', string][] = [
      ['GET', ''],
      ['GET', '/siem/deliveries'],
      ['POST', '/siem/resume'],
      ['POST', '/siem/replay'],
    ];
    const manager = service.as({ sub: 'm', role: ['admin', 'writer'] });
    for (const [method, path] of routes) {
      const body = method === 'POST' ? { body: { since: '2026-01-01T00:00:00Z' } } : {};
      expect(outcomeOf(await manager.send(method, `/v1/webhooks${path}`, body))).toBe('403 role_required');
    }
    for (const path of ['deliveries', 'resume', 'replay'])
      expect(
        outcomeOf(await admin().send(path === 'deliveries' ? 'GET' : 'POST', `/v1/webhooks/none/${path}`)),
      ).toBe('404 webhook_not_found');
    for (const since of ['yesterday', 5, undefined])
      expect(outcomeOf(await admin().post('/v1/webhooks/siem/replay', { since }))).toBe('400 invalid_body');
  });
});

describe('many webhooks', () => {
  const WEBHOOKS = 20;
  const target = new Receiver().runs();
  const many = aService()
    .source('published', { kind: 'managed' })
    .registry('main', { sources: ['published'] });
  many.runs();
  let tap: StatementTap;
  beforeAll(async () => {
    tap = new StatementTap(many.database);
    const { user, database } = many.database;
    const throughTap = { host: '127.0.0.1', port: await tap.listen(), user, database };
    await many.restart((edited) => edited.configuration({ database: throughTap }));
  });
  afterAll(() => tap.close());
  const has = (count: number) =>
    many.reload((edited) =>
      edited.configuration({
        webhooks: Array.from({ length: count }, (_, index) => ({
          name: `w${index}`,
          url: `${target.url}/${index}`,
          secretFile: edited.write('secret', SECRETS[0]),
          actions: ['entry.*'],
        })),
      }),
    );
  const about = (text: string) => tap.statements.filter((statement) => statement.includes(text)).length;
  const publishes = async (name: string) =>
    expect((await many.post('/v1/entries', { server: aServer(name) })).status).toBe(201);

  /** Waits until each has saved that it sent the last event. */
  const areUpToDate = (count: number) =>
    within(20_000, async () => {
      const rows = await many.database.query<{ count: number }>(
        `select count(*)::int as count from webhook
         where latest = (select id from audit_event order by id desc limit 1) and until is null`,
      );
      expect(rows).toEqual([{ count }]);
    });

  it('are sent no event twice when a round ends while their places are read', async () => {
    const PLACES = 'with held as materialized';
    await has(1);
    target.deliveries.length = 0;
    let end = () => {};
    const ended = new Promise<undefined>((resolve) => (end = () => resolve(undefined)));
    target.answer = () => ended;
    const [first, second] = [aName(), aName()];
    await publishes(first);
    await arrived(1, target);
    tap.statements.length = 0;
    tap.hold(PLACES);
    await within(20_000, () => expect(about(PLACES)).toBeGreaterThan(0));
    end();
    await areUpToDate(1);
    tap.release();
    await publishes(second);
    await areUpToDate(1);
    expect(target.received('/in/0')).toEqual(
      [first, second].map((name) => `entry.publish server/${name}@1.0.0`),
    );
  });

  it('read the audit trail once, and save their places together', async () => {
    await has(WEBHOOKS);
    await publishes(aName());
    await areUpToDate(WEBHOOKS);
    tap.statements.length = 0;
    target.deliveries.length = 0;
    const sent = [aName(), aName()];
    for (const [index, name] of sent.entries()) {
      // All rounds end together, however long the requests take.
      let end = () => {};
      const ended = new Promise<undefined>((resolve) => (end = () => resolve(undefined)));
      target.answer = (_, count) => {
        if (count === (index + 1) * WEBHOOKS) end();
        return ended;
      };
      await publishes(name);
      await areUpToDate(WEBHOOKS);
    }
    target.answer = () => undefined;
    expect(about('with fresh as materialized')).toBeLessThan(WEBHOOKS);
    expect(about('update webhook w set past')).toBeLessThan(WEBHOOKS);
    for (let index = 0; index < WEBHOOKS; index += 1)
      expect(target.received(`/in/${index}`)).toEqual(
        sent.map((name) => `entry.publish server/${name}@1.0.0`),
      );
  });

  it('each remember the last event sent to them', async () => {
    const later = 'ffffffff-ffff-7fff-bfff-ffffffffffff';
    await areUpToDate(WEBHOOKS);
    await many.database.query(`update webhook set latest = $1 where name = 'w0'`, [later]);
    await publishes(aName());
    await areUpToDate(WEBHOOKS - 1);
    const remembered = `select name from webhook where latest = $1`;
    expect(await many.database.query(remembered, [later])).toEqual([{ name: 'w0' }]);
  });
});
