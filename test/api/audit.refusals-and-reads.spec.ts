import { randomBytes } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { type AuditEvent, auditOf, eventsOf, linesIn } from '../support/audit.js';
import { SUPER_ADMIN } from '../support/callers.js';
import { Clock } from '../support/clock.js';
import { aServer, aSkill } from '../support/documents.js';
import { call, type Sender } from '../support/http.js';
import { expectRefused } from '../support/matchers.js';
import { findSecrets, keepSecret } from '../support/secrets.js';
import { aService } from '../support/service.js';
import { inSoak } from '../support/soak.js';
import { within } from '../support/within.js';

const READER = { sub: 'rita', org: 'acme' };
const FILLER = 'x'.repeat(9_000);
const MANAGER = { sub: 'mona', org: 'acme', role: 'admin' };

const service = aService({ mode: 'full' })
  .source('tools', {
    servers: [aServer('io.acme/a')],
    skills: [aSkill('io.acme/review')],
    claims: { org: 'acme' },
  })
  .source('large', { kind: 'managed', claims: { org: 'acme', filler: FILLER } })
  .registry('main', { sources: ['tools'], claims: { org: 'acme' } })
  .runs();
const sigrid = () => service.as(SUPER_ADMIN);
const rita = () => service.as(READER);
const SERVERS = '/registry/main/v0.1/servers';
const LINES = { Accept: 'application/x-ndjson' };

const dropped = async () => {
  const { text } = await call(`${service.internalOrigin}/metrics`);
  return Number(/^registry_audit_events_dropped_total (\d+)$/m.exec(text)?.[1]);
};

describe('audit events of reads', () => {
  it('are off by default', async () => {
    const read = await rita().get(SERVERS);
    await eventsOf(sigrid(), await service.get(SERVERS));
    const events = await auditOf(sigrid());
    expect(events.map(({ requestId }) => requestId)).not.toContain(read.headers['x-request-id']);
  });

  it('record each response of the consumer API as catalog.read with audit.reads', async () => {
    await service.restart((edited) => edited.configuration({ audit: { reads: true } }));
    const { headers } = await rita().get(SERVERS);
    const registry = { type: 'registry', name: 'main' };
    const server = { type: 'server', name: 'io.acme/a', registry: 'main' };
    const reads: readonly [path: string, recorded: object, headers?: Record<string, string>][] = [
      [SERVERS, { outcome: 'allowed', target: registry }],
      [SERVERS, { outcome: 'allowed', target: registry }, { 'If-None-Match': String(headers['etag']) }],
      [`${SERVERS}/io.acme%2Fa/versions`, { outcome: 'allowed', target: server }],
      [
        `${SERVERS}/io.acme%2Fa/versions/latest`,
        { outcome: 'allowed', target: { ...server, version: 'latest' } },
      ],
      [
        '/registry/main/v0/x/dev.toolhive/skills/io.acme/review',
        { outcome: 'allowed', target: { type: 'skill', name: 'io.acme/review', registry: 'main' } },
      ],
      [
        `${SERVERS}/io.acme%2Fnone/versions`,
        { outcome: 'refused', code: 'entry_not_found', target: { ...server, name: 'io.acme/none' } },
      ],
      ['/registry', { outcome: 'allowed', target: { type: 'route', name: 'GET /registry' } }],
    ];
    const replies = await Promise.all(reads.map(([path, , sent]) => rita().get(path, sent)));
    for (const [index, reply] of replies.entries()) {
      const [event] = await eventsOf(sigrid(), reply, 'action=catalog.read');
      const { outcome, code, target } = event as AuditEvent;
      expect({ outcome, ...(code === undefined ? {} : { code }), target }).toEqual(reads[index]?.[1]);
    }
  });

  it('record neither other routes nor 400s', async () => {
    const others = [
      await rita().get('/v1/me'),
      await rita().get(`${SERVERS}?limit=0`),
      await service.get('/openapi.json'),
      await sigrid().get('/v1/sources'),
    ];
    await eventsOf(sigrid(), await rita().get(SERVERS));
    const known = (await auditOf(sigrid())).map(({ requestId }) => requestId);
    for (const { headers } of others) expect(known).not.toContain(headers['x-request-id']);
  });

  it('are visible to managers of the registry only', async () => {
    const [event] = await eventsOf(sigrid(), await rita().get(SERVERS), 'action=catalog.read');
    const seenBy = async (claims: Record<string, unknown>) =>
      (await auditOf(service.as(claims), 'actor=rita')).map(({ id }) => id);
    expect(await seenBy(MANAGER)).toContain(event?.id);
    expect(await seenBy({ ...MANAGER, org: 'contoso' })).toEqual([]);
    expect(await seenBy({ ...MANAGER, role: 'writer' })).toEqual([]);
  });
});

describe('the event of a read after the registry changed', () => {
  const path = '/v1/registries/moving';
  const of = (team: string) => ({ sources: ['tools'], claims: { org: 'acme', team } });
  const both = { sub: 'bob', org: 'acme', team: ['red', 'blue'] };
  const read = () => service.as(both).get('/registry/moving/v0.1/servers');

  it('is visible to managers by the registry’s claims at the time of the read', async () => {
    expect((await sigrid().put(path, of('red'))).status).toBe(201);
    for (let count = 0; count < 3; count += 1) await read();
    expect((await sigrid().put(path, of('blue'))).status).toBe(200);
    const reply = await read();
    expect(reply.status).toBe(200);
    const [event] = await eventsOf(sigrid(), reply);
    const seenBy = async (team: string) =>
      (await auditOf(service.as({ ...MANAGER, team }), 'actor=bob')).map(({ id }) => id);
    expect(await seenBy('blue')).toContain(event?.id);
    expect(await seenBy('red')).not.toContain(event?.id);
  });

  it('is visible to super-admins only once the registry is deleted', async () => {
    await read();
    expect((await sigrid().delete(path)).status).toBe(204);
    const reply = await read();
    expect(reply.status).toBe(404);
    const [event] = await eventsOf(sigrid(), reply);
    expect(event).toMatchObject({ outcome: 'refused', target: { type: 'registry', name: 'moving' } });
    const seen = await auditOf(service.as({ ...MANAGER, team: ['red', 'blue'] }), 'actor=bob');
    expect(seen.map(({ id }) => id)).not.toContain(event?.id);
  });
});

describe('audit events dropped under load', () => {
  const locked = async <T>(work: () => Promise<T>): Promise<T> => {
    await service.database.query('begin');
    await service.database.query('lock table audit_event in access exclusive mode');
    const done = await work();
    await service.database.query('commit');
    return done;
  };

  it('are counted in a metric and in the next event, for super-admins only', async () => {
    expect(await dropped()).toBe(0);
    const carl = service.as({ sub: 'carl', org: 'contoso', role: 'admin' });
    // A queued event of this source takes 11 KiB, and the lock prevents writes.
    const probes = await locked(async () => {
      const replies = [];
      for (let round = 0; round < 14; round += 1)
        replies.push(...(await Promise.all(Array.from({ length: 60 }, () => carl.get('/v1/sources/large')))));
      return replies;
    });
    expect(probes.every(({ status }) => status === 404)).toBe(true);
    const lost = await dropped();
    expect(lost).toBeGreaterThan(50);
    // A caller with few queued events loses none.
    const [mine] = await eventsOf(sigrid(), await rita().get('/v1/sources'), 'actor=rita');
    expect(mine?.code).toBe('role_required');
    await within(20_000, async () => {
      const events = await auditOf(sigrid());
      expect(events.reduce((sum, event) => sum + (event.dropped ?? 0), 0)).toBe(lost);
      expect(events.filter(({ actor }) => actor.subject === 'carl')).toHaveLength(probes.length - lost);
    });
    const shown = await auditOf(service.as({ ...MANAGER, filler: FILLER }));
    expect(shown.filter(({ actor }) => actor.subject === 'carl')).toHaveLength(probes.length - lost);
    expect(shown.filter((event) => 'dropped' in event)).toEqual([]);
    expect(await dropped()).toBe(lost);
  });

  it('do not include events queued during a short lock, which are written later', async () => {
    const replies = await locked(async () => {
      const all = [];
      for (let index = 0; index < 20; index += 1) all.push(await rita().get('/v1/sources'));
      return all;
    });
    expect(replies.map(({ status }) => status)).toEqual(new Array(20).fill(403));
    await within(20_000, async () => {
      const known = (await auditOf(sigrid(), 'actor=rita')).map(({ requestId }) => requestId);
      for (const { headers } of replies) expect(known).toContain(headers['x-request-id']);
    });
  });
});

describe('events of refused requests', () => {
  it('omit a misplaced key in the path, but contain names of existing resources', async () => {
    const key = keepSecret(randomBytes(32).toString('base64url'));
    const stranger = service.as({ sub: 'stan', org: 'contoso' });
    const item = { type: 'server', name: '{key}', registry: 'main' };
    const refusals: readonly [path: string, code: string, target: object][] = [
      [`${SERVERS}/${key}/versions`, 'registry_forbidden', item],
      [
        `${SERVERS}/io.acme%2F${key}/versions/${key}`,
        'registry_forbidden',
        { ...item, name: 'io.acme/{key}', version: '{key}' },
      ],
      [`${SERVERS}/k${key}/versions`, 'registry_forbidden', item],
      [`/v1/sources/${key}`, 'role_required', { type: 'source', name: '{key}' }],
      [`/v1/entries/server/${key}`, 'role_required', { type: 'server', name: '{key}' }],
    ];
    const replies = await Promise.all(refusals.map(([path]) => stranger.get(path)));
    for (const [index, reply] of replies.entries()) {
      const [, code = '', target] = refusals[index] ?? [];
      expectRefused(reply, 403, code);
      const [event] = await eventsOf(sigrid(), reply);
      expect(event?.target).toEqual(target);
    }
    expect(findSecrets(JSON.stringify(await auditOf(sigrid())))).toEqual([]);
    expect(findSecrets(service.log.join(''))).toEqual([]);
  });
});

describe('events of unauthenticated requests', () => {
  it('do not contain a misplaced key in the path', async () => {
    const key = keepSecret(randomBytes(32).toString('base64url'));
    for (const path of [`/registry/${key}/v0.1/servers`, `${SERVERS}/${key}/versions/${key}`]) {
      const reply = await service.get(path);
      expectRefused(reply, 401, 'token_missing');
      const [event] = await eventsOf(sigrid(), reply, 'action=auth.refused');
      expect(JSON.stringify(event?.target)).toContain('{key}');
    }
    expect(findSecrets(JSON.stringify(await auditOf(sigrid())))).toEqual([]);
  });

  it('are recorded even if another event of their batch cannot be written', async () => {
    const before = await dropped();
    await service.database.query(
      `alter table audit_event add constraint unwritable check (actor is distinct from 'unwritable')`,
    );
    const subjects = ['rolf', 'unwritable', 'rosa', 'ruth'];
    const replies = await Promise.all(
      subjects.map((sub) => service.as({ sub, org: 'acme' }).get('/v1/sources')),
    );
    for (const [index, reply] of replies.entries())
      if (subjects[index] !== 'unwritable')
        expect((await eventsOf(sigrid(), reply)).map(({ actor }) => actor.subject)).toEqual([
          subjects[index],
        ]);
    await within(20_000, async () => expect((await dropped()) - before).toBe(1));
    await service.database.query(`alter table audit_event drop constraint unwritable`);
  });
});

describe('events of many refused requests', () => {
  // A minute may end during the test.
  new Clock().runs().standsStill();

  it('are limited to 1,000 per minute, per caller and for all unauthenticated callers; the rest counts as dropped', async () => {
    await service.restart();
    const since = new Date().toISOString();
    const before = await dropped();
    const refuse = async (sender: Sender) => {
      for (let count = 0; count < 55; count += 1) await sender.get('/v1/sources');
    };
    const carl = service.as({ sub: 'carl', org: 'contoso' });
    // Both limits use the same class.
    const senders = inSoak([service, carl], [service]);
    for (const sender of senders) await Promise.all(Array.from({ length: 20 }, () => refuse(sender)));
    expect((await dropped()) - before).toBe(senders.length * 100);
    await eventsOf(sigrid(), await rita().get('/v1/sources'), 'actor=rita');
    const refused = linesIn(await sigrid().get(`/v1/audit?since=${since}`, LINES));
    expect(refused.filter(({ action }) => action === 'auth.refused')).toHaveLength(1_000);
    expect(refused.filter(({ actor }) => actor.subject === 'carl')).toHaveLength(
      1_000 * (senders.length - 1),
    );
    expect(refused.reduce((sum, event) => sum + (event.dropped ?? 0), 0)).toBe(senders.length * 100);
  });
});

describe('events older than audit.retention', () => {
  it('are deleted, while newer ones stay', async () => {
    await service.database.query(
      `insert into audit_event (id, time, action, outcome, actor, target, event)
       select (lpad(to_hex(floor(extract(epoch from at) * 1000)::bigint), 12, '0') || '70008000' || lpad(to_hex(n), 12, '0'))::uuid,
         at, 'source.update', 'allowed', age, 'old', '{"requestId":null}'
       from generate_series(1, 2500) n
       cross join lateral (values ('31 days', now() - interval '31 days'), ('29 days', now() - interval '29 days')) v(age, at)`,
    );
    const counts = () =>
      service.database.query(
        `select actor, count(*)::int as count from audit_event where target = 'old' group by actor order by actor`,
      );
    expect(await counts()).toEqual([
      { actor: '29 days', count: 2500 },
      { actor: '31 days', count: 2500 },
    ]);
    await service.restart((edited) => edited.configuration({ audit: { retention: '30d' } }));
    await within(20_000, async () => expect(await counts()).toEqual([{ actor: '29 days', count: 2500 }]));
  });
});
