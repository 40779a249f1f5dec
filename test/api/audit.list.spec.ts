import { setTimeout as pause } from 'node:timers/promises';
import { LRUCache } from 'lru-cache';
import pg from 'pg';
import { beforeAll, describe, expect, it } from 'vitest';
import { type EventViewer, newestEvents, walkEvents } from '../../dist/audit/audit-page.queries.js';
import type { StatementRunner } from '../../dist/database/search-pool.js';
import { auditCursorIn, type AuditEvent, auditOf, eventsIn, eventsOf, linesIn } from '../support/audit.js';
import { SUPER_ADMIN } from '../support/callers.js';
import { Clock } from '../support/clock.js';
import { expectOneClaimApart } from '../support/claims-pairs.js';
import { rowsTouched } from '../support/explained.js';
import type { Reply, Sender } from '../support/http.js';
import { expectRefused } from '../support/matchers.js';
import { waitForLocks } from '../support/patient-reads.js';
import { aName, aPublication, entryAt, MODES } from '../support/publishing.js';
import { aService } from '../support/service.js';
import { within } from '../support/within.js';

waitForLocks();

const service = aService({ mode: 'full' })
  .source('published', { kind: 'managed', claims: { org: 'acme' } })
  .registry('main', { sources: ['published'], claims: { org: 'acme' } })
  .runs();

const sigrid = () => service.as(SUPER_ADMIN);
const someone = (claims: Record<string, unknown>) => service.as(claims);
const FIRST_ID = '00000000-0000-0000-0000-000000000000';
const LAST_ID = 'ffffffff-ffff-ffff-ffff-ffffffffffff';
const LINES = { Accept: 'application/x-ndjson' };
const at = (query = '') => `/v1/audit${query && `?${query}`}`;

/** A response, and the action of the event that its request caused. */
interface Acted {
  readonly reply: Reply;
  readonly action: string;
}

/** Each causes an event that the manager sees and the twin, one claim apart, does not. */
const SITUATIONS: readonly [
  what: string,
  manager: Record<string, unknown>,
  twin: Record<string, unknown>,
  act: () => Promise<Acted>,
][] = [
  [
    'a publication to entry managers who cover its claims',
    { sub: 'm', org: 'acme', team: 'platform', role: 'writer' },
    { sub: 'm', org: 'acme', team: 'data', role: 'writer' },
    async () => ({
      reply: await publisher().post('/v1/entries', aPublication('server', aName(), PLATFORM)),
      action: 'entry.publish',
    }),
  ],
  [
    'a publication to no caller without the role',
    { sub: 'm', org: 'acme', team: 'platform', role: 'writer' },
    { sub: 'm', org: 'acme', team: 'platform', role: 'admin' },
    async () => ({
      reply: await publisher().post('/v1/entries', aPublication('server', aName(), PLATFORM)),
      action: 'entry.publish',
    }),
  ],
  [
    'changed claims to managers who cover the claims before and after',
    { sub: 'm', org: 'acme', team: ['platform', 'data'], role: 'writer' },
    { sub: 'm', org: 'acme', team: ['data'], role: 'writer' },
    () => changeOfClaims(),
  ],
  [
    'changed claims to no manager who covers only the claims after',
    { sub: 'm', org: 'acme', team: ['platform', 'data'], role: 'writer' },
    { sub: 'm', org: 'acme', team: ['platform'], role: 'writer' },
    () => changeOfClaims(),
  ],
  [
    'a change of a source to managers who cover its claims',
    { sub: 'm', org: 'acme', team: 'platform', role: 'admin' },
    { sub: 'm', org: 'acme', team: 'data', role: 'admin' },
    async () => ({ reply: await putSource('changed'), action: 'source.create' }),
  ],
  [
    'a 404 for a hidden source to managers who cover its claims',
    { sub: 'm', org: 'acme', team: 'platform', role: 'admin' },
    { sub: 'm', org: 'acme', team: 'data', role: 'admin' },
    async () => {
      await putSource('hidden');
      const reply = await someone({ sub: 'x', org: 'contoso', role: 'admin' }).get('/v1/sources/hidden');
      expect(reply.status).toBe(404);
      return { reply, action: 'source.read' };
    },
  ],
  [
    'a refusal at the gate to managers who cover the registry’s claims',
    { sub: 'm', org: 'acme', role: 'admin' },
    { sub: 'm', org: 'contoso', role: 'admin' },
    async () => ({
      reply: await someone({ sub: 'x' }).get('/registry/main/v0.1/servers'),
      action: 'catalog.read',
    }),
  ],
];
const PLATFORM = { org: 'acme', team: 'platform' };
const publisher = () => someone({ sub: 'p', org: 'acme', team: ['platform', 'data'], role: 'writer' });
const putSource = (name: string) =>
  sigrid().put(`/v1/sources/${name}`, {
    file: { url: 'http://127.0.0.1:9/none.json' },
    syncPolicy: { interval: '1h' },
    claims: PLATFORM,
  });
async function changeOfClaims() {
  const name = aName();
  await publisher().post('/v1/entries', aPublication('server', name, PLATFORM));
  const claims = { org: 'acme', team: 'data' };
  const reply = await publisher().put(entryAt('server', name, '/claims'), { claims });
  expect(reply.status).toBe(204);
  return { reply, action: 'entry.claims.update' };
}

describe('visibility of audit events', () => {
  const acted = new Map<string, Acted>();
  beforeAll(async () => {
    for (const [what, , , act] of SITUATIONS) acted.set(what, await act());
  });

  it.each(SITUATIONS)('shows %s', async (what, manager, twin) => {
    const { reply, action } = acted.get(what) as Acted;
    expect(reply.status).not.toBe(400);
    const events = await eventsOf(sigrid(), reply);
    expect(events.map((event) => event.action)).toEqual([action]);
    const [expected] = events;
    const seenBy = async (claims: Record<string, unknown>) => {
      const listed = await auditOf(someone(claims));
      const lines = linesIn(await someone(claims).get(at(), LINES));
      expect(lines).toEqual(listed);
      return listed.filter(({ id }) => id === expected?.id);
    };
    expectOneClaimApart(manager, twin);
    expect(await seenBy(manager)).toEqual([expected]);
    expect(await seenBy(twin)).toEqual([]);
  });

  it('shows events without a resource to super-admins only', async () => {
    const reply = await someone({ sub: 'x', org: 'acme' }).get('/v1/entries');
    expectRefused(reply, 403, 'role_required');
    const [event] = await eventsOf(sigrid(), reply);
    expect(event).toMatchObject({ action: 'entry.list', target: { type: 'route', name: 'GET /v1/entries' } });
    const all = someone({ sub: 'm', org: 'acme', team: ['platform', 'data'], role: ['admin', 'writer'] });
    expect((await auditOf(all)).map(({ id }) => id)).not.toContain(event?.id);
  });

  it('depends on the claims of the target at the time of the event', async () => {
    const name = aName();
    await publisher().post('/v1/entries', aPublication('server', name, PLATFORM));
    await publisher().put(entryAt('server', name, '/claims'), { claims: { org: 'acme', team: 'data' } });
    await publisher().delete(entryAt('server', name, '/versions/1.0.0'));
    const seenBy = async (team: string) =>
      (await auditOf(someone({ sub: 'm', org: 'acme', team, role: 'writer' }), `target=${name}`)).map(
        ({ action }) => action,
      );
    expect(await seenBy('platform')).toEqual(['entry.publish']);
    expect(await seenBy('data')).toEqual(['entry.delete']);
  });

  it('is not revealed by page sizes or cursors', async () => {
    const own = { org: 'acme', team: 'own' };
    const owner = { sub: 'o', ...own, role: 'writer' };
    const mine: string[] = [];
    for (let round = 0; round < 4; round += 1) {
      const name = aName();
      await someone(owner).post('/v1/entries', aPublication('server', name, own));
      mine.unshift(name);
      for (let hidden = 0; hidden < 3; hidden += 1)
        await publisher().post('/v1/entries', aPublication('server', aName(), PLATFORM));
    }
    const first = await someone(owner).get(at('limit=2'));
    const second = await someone(owner).get(at(`cursor=${auditCursorIn(first)}`));
    const seen = [...eventsIn(first), ...eventsIn(second)];
    expect(seen.map(({ target }) => target.name)).toEqual(mine);
    expect(auditCursorIn(second)).toBeUndefined();
    const cursor = Buffer.from(auditCursorIn(first) ?? '', 'base64url').toString();
    const ids = cursor.match(/[0-9a-f]{8}-[0-9a-f-]{27}/g)?.filter((id) => !id.startsWith('00000000'));
    expect(ids).toEqual([seen[1]?.id]);
    // A cursor grants no access.
    const other = { sub: 'o', org: 'acme', team: 'other', role: 'writer' };
    expect(eventsIn(await someone(other).get(at(`cursor=${auditCursorIn(first)}`)))).toEqual([]);
    const all = await auditOf(sigrid(), `actor=o`);
    expect(all.map(({ target }) => target.name)).toEqual(mine);
  });

  it('requires a manage role', async () => {
    expectRefused(await someone({ sub: 'x', org: 'acme' }).get(at()), 403, 'role_required');
    expect((await someone({ sub: 'x', org: 'acme', role: 'admin' }).get(at())).status).toBe(200);
    expectRefused(await service.get(at()), 401, 'token_missing');
  });
});

describe('GET /v1/audit', () => {
  const NAME = aName();
  let all: AuditEvent[] = [];
  beforeAll(async () => {
    for (const version of ['1.0.0', '2.0.0', '3.0.0', '4.0.0', '5.0.0'])
      await publisher().post('/v1/entries', aPublication('server', NAME, PLATFORM, version));
    const refused = await someone({ sub: 'd', role: 'writer' }).get(entryAt('server', NAME));
    await eventsOf(sigrid(), refused);
    all = await auditOf(sigrid(), `target=${NAME}`);
  });
  const versions = (events: readonly AuditEvent[]) => events.map(({ target }) => target.version);

  it('lists events newest first, pages without gaps, and keeps the query in the cursor', async () => {
    expect(versions(all)).toEqual([undefined, '5.0.0', '4.0.0', '3.0.0', '2.0.0', '1.0.0']);
    const pages: AuditEvent[][] = [];
    let next: string | undefined = `target=${NAME}&action=entry.publish&limit=2`;
    while (next !== undefined) {
      const page = await sigrid().get(at(next));
      pages.push(eventsIn(page));
      const cursor = auditCursorIn(page);
      next = cursor === undefined ? undefined : `cursor=${cursor}`;
    }
    expect(pages.map(versions)).toEqual([['5.0.0', '4.0.0'], ['3.0.0', '2.0.0'], ['1.0.0']]);
  });

  it.each<[filter: string, query: () => string, found: (event: AuditEvent) => boolean]>([
    ['action', () => 'action=entry.publish', ({ action }) => action === 'entry.publish'],
    ['actor', () => 'actor=d', ({ actor }) => actor.subject === 'd'],
    ['outcome', () => 'outcome=refused', ({ outcome }) => outcome === 'refused'],
    ['since', () => `since=${all[2]?.time}`, ({ time }) => time >= (all[2]?.time ?? '')],
    ['until', () => `until=${all[2]?.time}`, ({ time }) => time < (all[2]?.time ?? '')],
    ['nothing when a parameter is empty', () => 'action=&outcome=&since=', () => true],
  ])('filters by %s', async (_filter, query, found) => {
    const expected = all.filter(found);
    expect(await auditOf(sigrid(), `target=${NAME}&${query()}`)).toEqual(expected);
    const lines = linesIn(await sigrid().get(at(`target=${NAME}&${query()}`), LINES));
    expect(lines).toEqual(expected);
  });

  it.each(['limit=0', 'limit=1001', 'since=yesterday', 'action=anything', 'outcome=perhaps'])(
    'returns 400 for %s',
    async (query) => {
      expectRefused(await sigrid().get(at(query)), 400, 'invalid_parameter');
      expectRefused(await sigrid().get(at(query), LINES), 400, 'invalid_parameter');
    },
  );

  it.each([
    ['longer than the stored form', 'x'.repeat(290)],
    ['truncated within a surrogate pair', `${'x'.repeat(254)}😀😀`],
  ])('filters by a subject %s', async (_what, sub) => {
    const name = aName();
    await someone({ ...PLATFORM, sub, role: 'writer' }).post(
      '/v1/entries',
      aPublication('server', name, PLATFORM),
    );
    const [event, ...others] = await auditOf(sigrid(), `actor=${encodeURIComponent(sub)}`);
    expect({ name: event?.target.name, others }).toEqual({ name, others: [] });
    // The truncated form shown in the event is also found.
    const shown = encodeURIComponent(event?.actor.subject ?? '');
    expect((await auditOf(sigrid(), `actor=${shown}`)).map(({ id }) => id)).toEqual([event?.id]);
  });

  it('is complete for a manager when events have many distinct claims', async () => {
    const kept = { org: 'many', team: ['t7', 't777', 't1499'] };
    await service.database.query(
      `insert into audit_event (id, time, action, outcome, actor, target, scope, scope_digest, event)
       select ('02000000-0000-7000-8000-' || lpad(n::text, 12, '0'))::uuid, now(), 'entry.publish', 'allowed', 'many', 't' || n,
         json_build_object('role', 'manageEntries', 'claims', json_build_array(json_build_object('org', 'many', 'team', 't' || n))),
         decode(md5(n::text), 'hex'), json_build_object('requestId', null, 'target', json_build_object('name', 't' || n))
       from generate_series(1, 1500) n`,
    );
    const seen = await auditOf(someone({ sub: 'm', ...kept, role: 'writer' }));
    expect(seen.map(({ target }) => target.name)).toEqual(['t1499', 't777', 't7']);
    await service.database.query(`delete from audit_event where actor = 'many'`);
  });

  it('skips non-matching events within an index', async () => {
    await service.database.query(
      `insert into audit_event (id, time, action, outcome, actor, target, scope, scope_digest, event)
       select ('03000000-0000-7000-8000-' || lpad(n::text, 12, '0'))::uuid, now(),
         case when n % 2 = 0 then 'entry.publish' else 'entry.delete' end, case when n % 2 = 0 then 'allowed' else 'refused' end,
         'plenty', case n when 7 then 'rare' else 'x' end,
         case when org is not null then json_build_object('role', 'manageEntries', 'claims', json_build_array(json_build_object('org', org))) end,
         case when org is not null then decode(md5(org), 'hex') end, '{}'
       from generate_series(1, 5000) n
         cross join lateral (select case when n % 1000 = 0 then 'plenty' when n % 3 = 0 then 'crowd' end as org) o`,
    );
    await service.database.query('vacuum audit_event');
    // Drops the primary key, which the planner would not use with many more events.
    await service.database.query('begin');
    try {
      await service.database.query('alter table audit_event drop constraint audit_event_pkey');
      await service.database.query('set local enable_seqscan = off');
      const range = { from: FIRST_ID, before: LAST_ID };
      const most = { events: 10, characters: 1_000 };
      const touched = (conditions: object) =>
        rowsTouched(service.database, (statements) =>
          newestEvents(statements, { ...range, ...conditions }, most),
        );
      const isSeen: EventViewer['sees'] = ({ claims }) => claims.some(({ org }) => org === 'plenty');
      const walked = (conditions: object) =>
        rowsTouched(service.database, (statements) =>
          walkedOver(slicesOf(statements), { ...range, ...conditions }, most, isSeen),
        );
      expect(await touched({ action: 'entry.publish', outcome: 'refused' })).toBeLessThan(200);
      // All scopes, and the events of the scopes that the viewer sees.
      const [all] = await service.database.query<{ scopes: number }>(
        'select count(distinct scope_digest)::int as scopes from audit_event',
      );
      const scopes = 4 * (all?.scopes ?? 0);
      expect(await walked({})).toBeLessThan(scopes + 50);
      expect(await walked({ outcome: 'refused' })).toBeLessThan(scopes + 50);
      expect(await walked({ action: 'entry.publish' })).toBeLessThan(scopes + 50);
      expect(await walked({ target: 'rare' })).toBeLessThan(200);
      expect(await walked({ target: 'rare', actor: 'plenty', action: 'entry.delete' })).toBeLessThan(200);
      expect(await walked({ actor: 'nobody', outcome: 'refused' })).toBeLessThan(200);
      expect(await walked({ action: 'source.delete' })).toBeLessThan(200);
      expect(await walked({ actor: 'plenty' })).toBeLessThan(2_200);
      expect(await walked({ subject: 'plenty' })).toBeLessThan(2_200);
      expect(await touched({ actor: 'plenty' })).toBeLessThan(200);
      expect(await touched({ actor: 'nobody' })).toBeLessThan(200);
    } finally {
      await service.database.query('rollback');
    }
    await service.database.query(`delete from audit_event where actor = 'plenty'`);
  });

  it('returns 400 for an invalid cursor', async () => {
    expectRefused(await sigrid().get(at('cursor=AAAA')), 400, 'invalid_cursor');
  });

  it('streams all events, or up to the limit, for Accept: application/x-ndjson', async () => {
    const whole = linesIn(await sigrid().get(at(), LINES));
    expect(whole.length).toBeGreaterThan(all.length);
    expect(linesIn(await sigrid().get(at('limit=3'), LINES))).toEqual(whole.slice(0, 3));
    const mixed = await sigrid().get(at('limit=3'), {
      Accept: 'application/json;q=0.5, application/x-ndjson',
    });
    expect(linesIn(mixed)).toHaveLength(3);
    expect(eventsIn(await sigrid().get(at('limit=3'), { Accept: '*/*' }))).toEqual(whole.slice(0, 3));
    const head = await sigrid().send('HEAD', at(), { headers: LINES });
    expect({ status: head.status, text: head.text }).toEqual({ status: 200, text: '' });
  });

  it('streams the same events as CSV for Accept: text/csv', async () => {
    const reply = await sigrid().get(at('limit=3'), { Accept: 'text/csv' });
    expect(reply.headers['content-type']).toBe('text/csv; charset=utf-8');
    const [head, ...records] = reply.text.split('\r\n');
    expect(head).toMatch(/^"id","time","action",/);
    const events = linesIn(await sigrid().get(at('limit=3'), LINES));
    expect(records.map((record) => record.slice(1, record.indexOf('"', 1)))).toEqual([
      ...events.map(({ id }) => id),
      '',
    ]);
    const platform = someone({ sub: 'm', org: 'acme', team: 'platform', role: 'writer' });
    const own = linesIn(await platform.get(at(), LINES));
    const [, ...seen] = (await platform.get(at(), { Accept: 'text/csv' })).text.trimEnd().split('\r\n');
    expect(seen).toHaveLength(own.length);
    expect(seen.length).toBeLessThan(linesIn(await sigrid().get(at(), LINES)).length);
  });

  it('ends a JSON page at 1 MiB, but streams NDJSON completely', async () => {
    const filler = { before: { filler: 'x'.repeat(15_000) } };
    await service.database.query(
      `insert into audit_event (id, time, action, outcome, actor, target, event)
       select ('01000000-0000-7000-8000-' || lpad(n::text, 12, '0'))::uuid, now(), 'source.update', 'allowed', 'bulk', 'bulk',
         json_build_object('requestId', null, 'action', 'source.update', 'outcome', 'allowed', 'change', $1::json)
       from generate_series(1, 100) n`,
      [filler],
    );
    const page = await sigrid().get(at('actor=bulk&limit=1000'));
    expect(page.bytes.length).toBeLessThan(1_200_000);
    expect(auditCursorIn(page)).toBeDefined();
    const lines = linesIn(await sigrid().get(at('actor=bulk'), LINES));
    expect(new Set(lines.map(({ id }) => id)).size).toBe(100);
    await service.database.query(`delete from audit_event where actor = 'bulk'`);
  });
});

/** Runs only the statements that find scopes or read a slice. */
const slicesOf = (statements: StatementRunner): StatementRunner => ({
  query: <Rows>(text: string, values: unknown[]) =>
    /audit_event where (id >=|scope_digest)/.test(text)
      ? statements.query<Rows>(text, values)
      : Promise.resolve([] as unknown as Rows),
});

/** Walks until the deadline, which has passed: one slice. */
function walkedOver(
  statements: StatementRunner,
  conditions: Parameters<typeof walkEvents>[1],
  most: Parameters<typeof walkEvents>[3],
  sees: EventViewer['sees'] = () => true,
) {
  const viewer = { sees, judged: new LRUCache<string, boolean>({ max: 2_000 }) };
  return walkEvents((read) => read(statements), conditions, viewer, most, 0);
}

describe('a page that ends early', () => {
  const HIDDEN = 7_000;
  const shared = aService({ mode: 'full' }).runs();
  const isOwn = (number: number) => number % 700 === 3;
  const own = Array.from({ length: HIDDEN }, (_, index) => HIDDEN - index).filter(isOwn);
  const clock = new Clock().runs();
  const targets = (events: readonly AuditEvent[]) => events.map(({ target }) => target.name);
  // A second apart, because the IDs of real events are also some time apart; at odd milliseconds, which are never a
  // round position.
  beforeAll(() =>
    shared.database.query(
      `insert into audit_event (id, time, action, outcome, actor, target, scope, scope_digest, event)
       select (lpad(to_hex(1700000000007 + n * 1000), 12, '0') || '7' || substr(md5(n::text), 1, 3) || '8' || substr(md5(n::text), 4, 15))::uuid,
         now(), 'entry.publish', 'allowed', 'bulk', 't' || n,
         json_build_object('role', 'manageEntries', 'claims', json_build_array(json_build_object('org', org))), decode(md5(org), 'hex'),
         json_build_object('requestId', null, 'target', json_build_object('name', 't' || n))
       from generate_series(1, $1) n cross join lateral (select case when n % 700 = 3 then 'own' else 'other' || n end) o(org)`,
      [HIDDEN],
    ),
  );

  it('continues without gaps, and reveals no ID or time of an event', async () => {
    const ids = await shared.database.query<{ id: string }>(
      `select id from audit_event where actor = 'bulk'`,
    );
    const moments = new Set(ids.map(({ id }) => id.slice(0, 13)));
    const found: string[] = [];
    let before = LAST_ID;
    let pages = 0;
    for (let next: string | undefined = before; next !== undefined; pages += 1) {
      before = next;
      const { rows, reached }: Awaited<ReturnType<typeof walkEvents>> = await walkedOver(
        { query: (text, values) => shared.database.query(text, values) as Promise<never> },
        { from: FIRST_ID, before, actor: 'bulk' },
        { events: 100, characters: 10_000 },
        ({ claims }) => claims.every((one) => one['org'] === 'own'),
      );
      found.push(...rows.map(({ event }) => (JSON.parse(event) as AuditEvent).target.name));
      next = reached;
      if (reached === undefined) continue;
      expect(reached < before).toBe(true);
      expect(moments.has(reached.slice(0, 13))).toBe(false);
      expect(reached.replaceAll('-', '')).toMatch(/0{24}$/);
    }
    expect(pages).toBeGreaterThan(2);
    expect(found).toEqual(own.map((number) => `t${number}`));
  });

  it('may be empty, and a stream continues', async () => {
    const holder = new pg.Client(shared.database.connection);
    await holder.connect();
    /** Holds up the first slice until a page must end. */
    const heldUp = async (send: () => Promise<Reply>): Promise<Reply> => {
      await holder.query('begin');
      await holder.query('lock table audit_event in access exclusive mode');
      const asked = send();
      await within(20_000, async () => {
        const reading = `select 1 from pg_locks
          where relation = 'audit_event'::regclass and mode = 'AccessShareLock' and not granted`;
        expect((await holder.query(reading)).rowCount).toBeGreaterThan(0);
      });
      clock.passes(1_200);
      await holder.query('rollback');
      return asked;
    };
    // Sees one event, older than three slices.
    const manager = shared.as({ sub: 'm', org: 'other5', role: 'writer' });
    const first = await heldUp(() => manager.get(at()));
    expect(eventsIn(first)).toEqual([]);
    const cursor = auditCursorIn(first) ?? '';
    const rest = await auditOf(manager, `cursor=${cursor}`);
    expect(targets(rest)).toEqual(['t5']);
    const stored = await shared.database.query<{ id: string }>('select id from audit_event');
    const content = Buffer.from(cursor, 'base64url').toString();
    expect(stored.filter(({ id }) => content.includes(id.slice(0, 13)))).toEqual([]);
    expect(linesIn(await heldUp(() => manager.get(at(), LINES)))).toEqual(rest);
    await holder.end();
  });
});

describe('audit events without role rules', () => {
  describe.each(MODES.slice(0, 2))('in %s mode', (mode) => {
    const open = aService({ mode })
      .source('published', { kind: 'managed' })
      .registry('main', { sources: ['published'] })
      .runs();
    const caller = (): Sender => (mode === 'anonymous' ? open : open.as({ sub: 'x', org: 'acme' }));

    it('are visible to every caller', async () => {
      const name = aName();
      const reply = await caller().post('/v1/entries', aPublication('server', name, { org: 'acme' }));
      expect(reply.status).toBe(201);
      const subject = mode === 'anonymous' ? null : 'x';
      expect(await auditOf(caller(), `target=${name}`)).toMatchObject([{ actor: { subject } }]);
      const { versions } = (await caller().get(entryAt('server', name))).json as { versions: object[] };
      expect('publishedBy' in (versions[0] ?? {})).toBe(mode !== 'anonymous');
    });
  });
});

describe('an NDJSON stream', () => {
  it('ends its statement and frees its slot when the client disconnects', async () => {
    await service.database.query(
      `insert into audit_event (id, time, action, outcome, actor, target, event)
       select ('01000000-0000-7000-8000-' || lpad(n::text, 12, '0'))::uuid, now(), 'source.update', 'allowed', 'bulk', 'bulk',
         json_build_object('requestId', null, 'filler', repeat('x', 2000)) from generate_series(1, 8000) n`,
    );
    const { request } = await import('node:http');
    const token = `Bearer ${service.issuer.sign(SUPER_ADMIN)}`;
    const headers = { ...LINES, Authorization: token };
    const bytes = await new Promise<number>((resolve, reject) => {
      const outgoing = request(`${service.origin}/v1/audit`, { headers, agent: false }, (response) => {
        response.once('data', (chunk: Buffer) => {
          // Backpressure: stop reading, so that the statement stays open.
          response.pause();
          setTimeout(() => {
            outgoing.destroy();
            resolve(chunk.length);
          }, 700);
        });
      });
      outgoing.once('error', reject);
      outgoing.end();
    });
    expect(bytes).toBeGreaterThan(0);
    await within(20_000, async () => {
      const running = await service.database.query(
        `select query from pg_stat_activity where application_name = 'registry-server-search' and state <> 'idle'
         and datname = current_database()`,
      );
      expect(running).toEqual([]);
    });
    // The slot is free again.
    expect((await service.as(SUPER_ADMIN).get('/v1/audit?limit=1')).status).toBe(200);
    const cut = service.logs().filter(({ msg }) => msg === 'A streamed list was cut off');
    expect(cut).toEqual([]);
    await service.database.query(`delete from audit_event where actor = 'bulk'`);
  });
});

describe('a stream that is read slowly', () => {
  const clock = new Clock().runs({ monotonic: false });

  it('is cut off only if the reader has outlived the token', async () => {
    await service.database.query(
      `insert into audit_event (id, time, action, outcome, actor, target, event)
       select ('01000000-0000-7000-8000-' || lpad(n::text, 12, '0'))::uuid, now(), 'source.update', 'allowed', 'slow', 'slow',
         json_build_object('requestId', null, 'action', 'source.update', 'outcome', 'allowed', 'change', $1::json)
       from generate_series(1, 800) n`,
      [{ before: { filler: 'x'.repeat(15_000) } }],
    );
    const began = Math.ceil(Date.now() / 1_000);
    const replies = await Promise.all(
      [600, 6_000].map((lifetime) => {
        const token = service.issuer.sign({ ...SUPER_ADMIN, exp: began + lifetime });
        const headers = { ...LINES, Authorization: `Bearer ${token}` };
        return fetch(`${service.origin}${at('actor=slow')}`, { headers });
      }),
    );
    expect(replies.map(({ status }) => status)).toEqual([200, 200]);
    clock.passes(1_200_000);
    // The caller is identified again once a response has taken a second.
    await pause(1_100);
    const areComplete = replies.map((reply) =>
      reply.text().then(
        () => true,
        () => false,
      ),
    );
    expect(await Promise.all(areComplete)).toEqual([false, true]);
    await service.database.query(`delete from audit_event where actor = 'slow'`);
  });
});
