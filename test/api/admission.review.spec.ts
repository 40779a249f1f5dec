import { randomUUID } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { decide, type Item, itemsFor, served } from '../support/admission.js';
import { auditOf, eventsOf } from '../support/audit.js';
import { ACME_ADMIN, CONTOSO_ADMIN, SUPER_ADMIN } from '../support/callers.js';
import { aServer, type Document } from '../support/documents.js';
import type { Reply, Sender } from '../support/http.js';
import { expectRefused } from '../support/matchers.js';
import { entryAt } from '../support/publishing.js';
import { aService } from '../support/service.js';

const ACME = { org: 'acme' };
/** Publishes for Acme, and also reviews payments. */
const WRITER = { sub: 'wim', org: 'acme', role: 'writer', team: 'payments' };
const REVIEWER = { sub: 'rita', org: 'acme', team: 'payments' };
const SECOND = { sub: 'rolf', org: 'acme', team: 'risk' };
/** Belongs to a reviewing team, but does not cover the claims of Acme's entries. */
const OUTSIDE = { sub: 'olga', org: 'contoso', team: 'payments' };
const COLLEAGUE = { sub: 'carl', org: 'acme', role: 'writer' };

const NAME = 'com.acme/payments-api';

describe('managed.review', () => {
  const service = aService({ mode: 'full' })
    .source('internal', {
      kind: 'managed',
      settings: {
        review: [
          { names: ['com.acme/payments-*'], reviewers: { team: ['payments', 'risk'] }, approvals: 2 },
          { names: ['com.acme/*'], reviewers: { team: 'platform' } },
        ],
      },
      claims: ACME,
    })
    .registry('main', { sources: ['internal'], claims: {}, publishClaims: ACME })
    .runs();
  const as = (claims: Document): Sender => service.as(claims);
  const publish = (
    version: string,
    by: Document = WRITER,
    name = NAME,
    claims: unknown = ACME,
  ): Promise<Reply> => as(by).post('/v1/entries', { server: aServer(name, version), claims });
  const held = async (version: string): Promise<Item> => {
    const [item] = (await itemsFor(as(WRITER), '?mine=true')).filter((one) => one.version === version);
    if (!item) throw new Error(`${version} is not held`);
    return item;
  };

  it('holds a publication with 202, also in dry runs', async () => {
    const body = { server: aServer(NAME, '1.0.0'), claims: ACME };
    for (const path of ['/v1/entries/validate', '/v1/entries?dry_run=true']) {
      const reply = await as(WRITER).post(path, body);
      expect([reply.status, reply.json]).toMatchObject([200, { admission: { status: 'held' } }]);
    }
    expect(await itemsFor(as(WRITER))).toEqual([]);
    const reply = await publish('1.0.0');
    expect(reply.status).toBe(202);
    expect(reply.json).toMatchObject({
      type: 'server',
      name: NAME,
      version: '1.0.0',
      claims: ACME,
      admission: { status: 'held', reasons: [{ policy: 'review' }] },
    });
    expect(await served(as(SUPER_ADMIN))).toEqual([]);
    expect((await as(SUPER_ADMIN).get(entryAt('server', NAME))).status).toBe(404);
    expect((await publish('1.0.0', WRITER, 'com.other/free')).status).toBe(201);
  });

  it('reserves the name with its claims, for every sender', async () => {
    const again = await publish('1.0.0');
    expectRefused(again, 409, 'version_exists');
    expect(again.text).toContain('is held, and you published it: withdraw it first');
    const theirs = await publish('1.0.0', COLLEAGUE);
    expectRefused(theirs, 409, 'version_exists');
    expect(theirs.text).not.toContain('held');
    const other = { sub: 'cora', org: 'contoso', role: 'writer' };
    expectRefused(await publish('1.1.0', other, NAME, { org: 'contoso' }), 400, 'claims_mismatch');
    expectRefused(await publish('1.1.0', WRITER, NAME, { team: 'payments' }), 400, 'claims_mismatch');
  });

  it('shows an item only to its publisher, its reviewers and managers of the source', async () => {
    const item = await held('1.0.0');
    for (const claims of [WRITER, REVIEWER, SECOND, ACME_ADMIN, SUPER_ADMIN]) {
      expect((await itemsFor(as(claims))).map(({ id }) => id)).toEqual([item.id]);
      expect((await as(claims).get(`/v1/admission/${item.id}`)).json).toMatchObject({
        document: aServer(NAME, '1.0.0'),
        approvals: { required: 2, given: 0 },
        publisher: { subject: 'wim' },
      });
    }
    for (const claims of [OUTSIDE, COLLEAGUE, CONTOSO_ADMIN]) {
      expect(await itemsFor(as(claims))).toEqual([]);
      expectRefused(await as(claims).get(`/v1/admission/${item.id}`), 404, 'item_not_found');
      for (const decision of ['approve', 'reject', 'withdraw'])
        expectRefused(await decide(as(claims), item, decision), 404, 'item_not_found');
    }
    expectRefused(await as(REVIEWER).get('/v1/admission/nothing'), 404, 'item_not_found');
  });

  it('records attempts to read or decide a hidden item, for the managers of its source', async () => {
    const item = await held('1.0.0');
    const missing = await as(OUTSIDE).get(`/v1/admission/${randomUUID()}`);
    for (const [reply, action] of [
      [await as(OUTSIDE).get(`/v1/admission/${item.id}`), 'admission.read'],
      [await decide(as(OUTSIDE), item, 'approve'), 'admission.approve'],
    ] as const) {
      expectRefused(reply, 404, 'item_not_found');
      expect(await eventsOf(as(ACME_ADMIN), reply)).toMatchObject([
        { action, outcome: 'refused', code: 'item_not_found', actor: { subject: 'olga' } },
      ]);
    }
    const recorded = (await auditOf(as(SUPER_ADMIN))).map(({ requestId }) => requestId);
    expect(recorded).not.toContain(missing.headers['x-request-id']);
  });

  it('can be filtered, also by what the caller can decide; unknown values are refused', async () => {
    for (const [claims, count] of [
      [REVIEWER, 1],
      [WRITER, 0],
      [ACME_ADMIN, 0],
      [SUPER_ADMIN, 0],
    ] as const)
      expect(await itemsFor(as(claims), '?decidable=true')).toHaveLength(count);
    for (const [query, count] of [
      ['?reason=review', 1],
      ['?reason=block', 0],
      ['?type=server&source=internal', 1],
      ['?source=other', 0],
      [`?name=${encodeURIComponent(NAME)}`, 1],
      ['?name=com.acme', 0],
      ['?status=rejected', 0],
    ] as const)
      expect(await itemsFor(as(REVIEWER), query), query).toHaveLength(count);
    for (const query of ['?status=open', '?reason=mood', '?type=robot'])
      expectRefused(await as(REVIEWER).get(`/v1/admission${query}`), 400, 'invalid_parameter');
  });

  it('refuses decisions by the publisher or others, about another digest, or made twice', async () => {
    const item = await held('1.0.0');
    expectRefused(await decide(as(WRITER), item, 'approve'), 403, 'own_publication');
    const otherToken = { ...WRITER, team: 'risk', scope: 'another token' };
    expectRefused(await decide(as(otherToken), item, 'approve'), 403, 'own_publication');
    for (const claims of [ACME_ADMIN, SUPER_ADMIN])
      expectRefused(await decide(as(claims), item, 'approve'), 403, 'not_reviewer');
    expectRefused(await decide(as(REVIEWER), item, 'withdraw'), 403, 'not_reviewer');
    expectRefused(
      await decide(as(REVIEWER), { id: item.id, digest: '0'.repeat(64) }, 'approve'),
      409,
      'digest_mismatch',
    );
    expectRefused(await decide(as(REVIEWER), { id: item.id, digest: 'x' }, 'approve'), 400, 'invalid_body');
    // A hidden item is 404 with any body.
    expectRefused(await decide(as(OUTSIDE), { id: item.id, digest: 'x' }, 'approve'), 404, 'item_not_found');
    expect((await decide(as(REVIEWER), item, 'comment', { comment: 'looking' })).status).toBe(200);
    const [first, second] = await Promise.all([1, 2].map(() => decide(as(REVIEWER), item, 'approve')));
    expect([first?.status, second?.status].sort()).toEqual([200, 409]);
    expectRefused(await decide(as({ ...REVIEWER, more: 'x' }), item, 'approve'), 409, 'already_approved');
    expect(await itemsFor(as(REVIEWER), '?decidable=true')).toEqual([]);
    expect(await itemsFor(as(SECOND))).toMatchObject([
      { approvals: { required: 2, given: 1 }, decisions: [{ decision: 'comment' }, { decision: 'approve' }] },
    ]);
  });

  it('records refused decisions with the entry, for the managers of its source', async () => {
    const item = await held('1.0.0');
    const [event] = await eventsOf(as(ACME_ADMIN), await decide(as(WRITER), item, 'approve'));
    expect(event).toMatchObject({
      action: 'admission.approve',
      outcome: 'refused',
      code: 'own_publication',
      target: { type: 'server', name: NAME, version: '1.0.0', source: 'internal' },
    });
    const seen = await auditOf(as(CONTOSO_ADMIN), `target=${encodeURIComponent(NAME)}`);
    expect(seen.map(({ id }) => id)).not.toContain(event?.id);
  });

  it('publishes after the last approval', async () => {
    const item = await held('1.0.0');
    expect((await decide(as(SECOND), item, 'approve')).json).toMatchObject({ status: 'admitted' });
    expectRefused(await decide(as(SECOND), item, 'approve'), 409, 'already_decided');
    expect(await served(as({ sub: 'x', ...ACME }))).toEqual([`${NAME}@1.0.0`, 'com.other/free@1.0.0']);
    expect((await as(WRITER).get(entryAt('server', NAME))).json).toMatchObject({
      claims: ACME,
      versions: [{ version: '1.0.0', digest: item.digest, publishedBy: { subject: 'wim' } }],
    });
  });

  it('keeps the served version while the next one waits, is rejected or withdrawn', async () => {
    for (const [version, by, decision, status] of [
      ['2.0.0', REVIEWER, 'reject', 'rejected'],
      ['3.0.0', WRITER, 'withdraw', 'withdrawn'],
    ] as const) {
      expect((await publish(version)).status).toBe(202);
      const item = await held(version);
      const reply = await decide(as(by), item, decision, { comment: 'no' });
      expect(reply.json).toMatchObject({ status, decisions: [{ decision, comment: 'no' }] });
      expect((await itemsFor(as(WRITER), `?status=${status}`)).map((one) => one.version)).toContain(version);
      expect((await publish(version)).status).toBe(202);
      expect((await decide(as(WRITER), await held(version), 'withdraw')).status).toBe(200);
    }
    expect(await served(as(SUPER_ADMIN))).toContain(`${NAME}@1.0.0`);
    expect(await itemsFor(as(WRITER))).toEqual([]);
  });

  it('shows how a document differs, without comparing long ones', async () => {
    const name = 'com.acme/tree';
    const pairs = (depth: number, leaf: number): unknown =>
      depth === 0 ? leaf : [pairs(depth - 1, leaf), pairs(depth - 1, leaf)];
    const tree = (version: string, x: unknown) => aServer(name, version, { _meta: { 'com.acme/x': x } });
    const holding = async (server: Document) => {
      expect((await as(WRITER).post('/v1/entries', { server, claims: ACME })).status).toBe(202);
      return held(String(server['version']));
    };
    const compared = async (server: Document) => {
      const item = await holding(server);
      const { json } = await as(WRITER).get(`/v1/admission/${item.id}`);
      expect((await decide(as(WRITER), item, 'withdraw')).status).toBe(200);
      const { document, replaces } = json as {
        document: Document;
        replaces: { version: string; diff: { path: string }[] };
      };
      expect([document, replaces.version]).toEqual([server, '1.0.0']);
      return replaces.diff;
    };
    const first = await holding(tree('1.0.0', pairs(12, 1)));
    const platform = as({ sub: 'paul', org: 'acme', team: 'platform' });
    expect((await decide(platform, first, 'approve')).json).toMatchObject({ status: 'admitted' });
    // The shortest patch would take hours to find.
    const nested = tree('1.1.0', pairs(12, 2));
    expect(await compared(nested)).toEqual([{ op: 'replace', path: '', value: nested }]);
    const text = (bytes: number) => tree('1.2.0', 'x'.repeat(bytes));
    const fits = 64 * 1_024 - JSON.stringify(text(0)).length;
    expect((await compared(text(fits))).map(({ path }) => path)).toEqual(['/version', '/_meta/com.acme~1x']);
    const tooLong = text(fits + 1);
    expect(await compared(tooLong)).toEqual([{ op: 'replace', path: '', value: tooLong }]);
    expect((await as(WRITER).delete(entryAt('server', name, '/versions/1.0.0'))).status).toBe(204);
  });

  it('holds changes to claims and status, except to deleted', async () => {
    const claims = { org: 'acme', team: 'payments' };
    const reply = await as(WRITER).put(entryAt('server', NAME, '/claims'), { claims });
    expect([reply.status, reply.json]).toMatchObject([202, { change: { claims }, status: 'held' }]);
    expect((reply.json as Item).version).toBeUndefined();
    const status = await as(WRITER).patch(entryAt('server', NAME, '/status'), { status: 'deprecated' });
    expectRefused(status, 409, 'change_pending');
    // Only reviewers who also cover the new claims may decide.
    expect(await itemsFor(as(SECOND))).toEqual([]);
    const [item] = await itemsFor(as(REVIEWER));
    if (!item) throw new Error('The change is not held');
    expect((await decide(as(REVIEWER), item, 'approve')).json).toMatchObject({ approvals: { given: 1 } });
    const third = { ...REVIEWER, sub: 'rosa' };
    expect((await decide(as(third), item, 'approve')).json).toMatchObject({ status: 'admitted' });
    expect((await as(WRITER).get(entryAt('server', NAME, '/claims'))).json).toEqual({ claims });

    const version = entryAt('server', NAME, '/versions/1.0.0/status');
    const pending = await as(WRITER).patch(version, { status: 'deprecated', statusMessage: 'old' });
    expect([pending.status, pending.json]).toMatchObject([
      202,
      { version: '1.0.0', change: { status: 'deprecated' } },
    ]);
    expect((await as(WRITER).patch(version, { status: 'deleted' })).status).toBe(200);
    const change = pending.json as Item;
    for (const claims of [REVIEWER, third]) await decide(as(claims), change, 'approve');
    expect((await as(WRITER).get(entryAt('server', NAME))).json).toMatchObject({
      versions: [{ status: 'deprecated', statusMessage: 'old' }],
    });
  });

  it("lets only reviewers of the entry's current claims see and decide held items", async () => {
    // The entry belongs to the payments team since its claims changed.
    const claims = { org: 'acme', team: 'payments' };
    const { database } = service;
    const both = { ...WRITER, sub: 'bea' };
    expect((await publish('6.0.0', both, NAME, claims)).status).toBe(202);
    const [item] = (await itemsFor(as(both))).filter(({ version }) => version === '6.0.0');
    if (!item) throw new Error('6.0.0 is not held');
    expect(await itemsFor(as(SECOND), `?name=${encodeURIComponent(NAME)}`)).toEqual([]);
    const change = await as(WRITER).put(entryAt('server', NAME, '/claims'), { claims: ACME });
    for (const sub of ['rita', 'rosa'])
      expect((await decide(as({ ...REVIEWER, sub }), change.json as Item, 'approve')).status).toBe(200);
    expect(await itemsFor(as(SECOND))).toMatchObject([{ id: item.id, claims: ACME }]);
    // The claims are changed back: the risk team and a publisher who left no longer cover them.
    const back = await as(WRITER).put(entryAt('server', NAME, '/claims'), { claims });
    for (const sub of ['rita', 'rosa'])
      expect((await decide(as({ ...REVIEWER, sub }), back.json as Item, 'approve')).status).toBe(200);
    expectRefused(await decide(as(SECOND), item, 'approve'), 404, 'item_not_found');
    const left = { ...both, team: 'sales' };
    for (const reply of [
      await as(left).get(`/v1/admission/${item.id}`),
      await as(left).get('/v1/admission'),
    ]) {
      expect(reply.text).toContain(item.id);
      expect(reply.text).not.toContain('"claims"');
    }
    const admitted = await database.query<{ id: string }>(
      `select id from admission_item where name = $1 and version = '1.0.0' and change is null`,
      [NAME],
    );
    const read = async (by: Document) => (await as(by).get(`/v1/admission/${admitted[0]?.id}`)).json;
    expect(await read(REVIEWER)).toMatchObject({ document: aServer(NAME, '1.0.0') });
    expect(await read(SECOND)).not.toHaveProperty('document');
    expect((await decide(as(both), item, 'withdraw')).status).toBe(200);
  });

  it('lets mcp-publisher publish: 200 with the Item, and the held version in _meta', async () => {
    const name = 'com.acme/tool';
    const reply = await as(WRITER).post('/registry/main/v0.1/publish', aServer(name));
    expect(reply.status).toBe(200);
    expect(reply.json).toMatchObject({
      server: aServer(name),
      _meta: {
        'io.modelcontextprotocol.registry/official': { status: 'active', isLatest: false },
        'registry-server/admission': { status: 'held', reasons: [{ policy: 'review' }] },
      },
    });
    const [item] = (await itemsFor(as(WRITER))).filter((one) => one.name === name);
    const platform = { sub: 'pia', org: 'acme', team: 'platform' };
    if (item) expect((await decide(as(platform), item, 'approve')).status).toBe(200);
    const status = await as(WRITER).patch(
      `/registry/main/v0.1/servers/${encodeURIComponent(name)}/versions/1.0.0/status`,
      { status: 'deprecated' },
    );
    expect([status.status, status.json]).toMatchObject([
      200,
      {
        _meta: {
          'io.modelcontextprotocol.registry/official': { status: 'active' },
          'registry-server/admission': { status: 'held' },
        },
      },
    ]);
  });

  it('limits the comments on an item and the held items of one person', async () => {
    const limited = 'com.acme/payments-limited';
    await publish('4.0.0', WRITER, limited);
    const item = await held('4.0.0');
    const query = (text: string, values?: unknown[]) => service.database.query(text, values);
    await query(
      `insert into admission_decision (item_id, decision, at, comment)
       select $1, 'comment', now(), 'x' from generate_series(1, 199)`,
      [item.id],
    );
    expect((await decide(as(REVIEWER), item, 'comment', { comment: 'x'.repeat(2_000) })).status).toBe(200);
    const over = await decide(as(REVIEWER), item, 'comment', { comment: 'x'.repeat(2_001) });
    expectRefused(over, 400, 'invalid_body');
    expectRefused(
      await decide(as(REVIEWER), item, 'comment', { comment: 'one more' }),
      409,
      'too_many_comments',
    );
    await query(
      `insert into admission_item (id, source_id, type, name, version, status, reasons, digest, first_seen_at,
         claims, publisher_key, document)
       select gen_random_uuid(), source_id, type, 'com.acme/payments-many', 'n' || n, 'held', reasons, digest, now(),
         claims, publisher_key, '{}'
       from admission_item cross join generate_series(1, 999) n where id = $1`,
      [item.id],
    );
    expectRefused(await publish('5.0.0', WRITER, limited), 409, 'too_many_held');
    expect((await publish('5.0.0', COLLEAGUE, limited)).status).toBe(202);
    const pages: number[] = [];
    for (let cursor = ''; ;) {
      const reply = await as(REVIEWER).get(`/v1/admission?name=com.acme%2Fpayments-many&limit=100${cursor}`);
      const { items, metadata } = reply.json as { items: Item[]; metadata: { nextCursor?: string } };
      pages.push(items.length);
      if (metadata.nextCursor === undefined) break;
      cursor = `&cursor=${metadata.nextCursor}`;
    }
    expect(pages.reduce((sum, count) => sum + count)).toBe(999);
    await query(`delete from admission_item where name = 'com.acme/payments-many'`);
    expect((await publish('5.1.0', WRITER, limited)).status).toBe(202);
  });

  it('examines a limited number of items for each page, and continues after them', async () => {
    await publish('6.0.0', WRITER, 'com.acme/payments-behind');
    const [item] = (await itemsFor(as(WRITER), '?mine=true')).filter(({ version }) => version === '6.0.0');
    await service.database.query(
      `insert into admission_item (id, source_id, type, name, version, status, reasons, digest, first_seen_at,
         created_at, claims, document)
       select gen_random_uuid(), source_id, type, 'com.acme/payments-others', 'n' || n, 'held', reasons, digest, now(),
         now() + interval '1 minute', jsonb_build_object('org', 'contoso', 'n', n::text), '{}'
       from admission_item cross join generate_series(1, 2500) n where id = $1`,
      [item?.id],
    );
    for (const filter of ['name=com.acme%2Fpayments-others', 'decidable=true']) {
      const pages: number[] = [];
      let cursor = '';
      const seen: Item[] = [];
      do {
        const reply = await as(REVIEWER).get(`/v1/admission?${filter}&limit=10${cursor}`);
        const { items, metadata } = reply.json as { items: Item[]; metadata: { nextCursor?: string } };
        pages.push(items.length);
        seen.push(...items);
        cursor = metadata.nextCursor === undefined ? '' : `&cursor=${metadata.nextCursor}`;
      } while (cursor !== '');
      expect(pages[0], filter).toBe(0);
      expect(seen.some(({ id }) => id === item?.id)).toBe(filter === 'decidable=true');
      expect(seen.every(({ name }) => name !== 'com.acme/payments-others')).toBe(true);
    }
    await service.database.query(`delete from admission_item where name like 'com.acme/payments-others'`);
    await decide(as(WRITER), item as Item, 'withdraw');
  });

  it('continues at positions that are not of hidden items, and skips and repeats nothing', async () => {
    await publish('7.0.0', WRITER, 'com.acme/payments-sparse');
    const [item] = (await itemsFor(as(WRITER), '?mine=true')).filter(({ version }) => version === '7.0.0');
    const items: { id: string; isSeen: boolean }[] = await service.database.query(
      `insert into admission_item (id, source_id, type, name, version, status, reasons, digest, first_seen_at,
         created_at, claims, document)
       select gen_random_uuid(), source_id, type, 'com.acme/payments-mixed', 'n' || n, 'held', reasons, digest, now(),
         now() + n * interval '1 second', case when n % 50 = 0 then claims else '{"org": "contoso"}' end, '{}'
       from admission_item cross join generate_series(1, 4250) n where id = $1
       returning id, claims ->> 'org' = 'acme' as "isSeen"`,
      [item?.id],
    );
    const idsOf = (isSeen: boolean) => items.flatMap((one) => (one.isSeen === isSeen ? [one.id] : []));
    const seen: string[] = [];
    let cursor = '';
    do {
      const reply = await as(REVIEWER).get(`/v1/admission?name=com.acme%2Fpayments-mixed&limit=100${cursor}`);
      const page = reply.json as { items: Item[]; metadata: { nextCursor?: string } };
      seen.push(...page.items.map(({ id }) => id));
      const { nextCursor } = page.metadata;
      cursor = nextCursor === undefined ? '' : `&cursor=${nextCursor}`;
      const decoded = Buffer.from(nextCursor ?? '', 'base64url').toString();
      expect(idsOf(false).filter((id) => decoded.includes(id))).toEqual([]);
    } while (cursor !== '');
    expect(seen.toSorted()).toEqual(idsOf(true).toSorted());
    await service.database.query(`delete from admission_item where name = 'com.acme/payments-mixed'`);
    await decide(as(WRITER), item as Item, 'withdraw');
  });

  it('records holds and decisions for the managers of the entry', async () => {
    const events = await as(WRITER).get(`/v1/audit?target=${encodeURIComponent(NAME)}&limit=1000`);
    const actions = (events.json as { events: { action: string }[] }).events.map(({ action }) => action);
    for (const action of ['hold', 'approve', 'admit', 'reject', 'comment', 'withdraw'])
      expect(actions).toContain(`admission.${action}`);
    // Approved changes are found by the same words as changes that need no review.
    for (const action of ['entry.claims.update', 'entry.status'])
      expect(actions.filter((one) => one === action)).toHaveLength(action === 'entry.status' ? 2 : 3);
  });

  it('withdraws the held changes to a deleted version', async () => {
    const [item] = await itemsFor(as(WRITER), '?name=com.acme%2Ftool');
    expect((await as(WRITER).delete(entryAt('server', 'com.acme/tool', '/versions/1.0.0'))).status).toBe(204);
    expect((await as(WRITER).get(`/v1/admission/${item?.id}`)).json).toMatchObject({ status: 'withdrawn' });
    const withdrawn = await auditOf(as(WRITER), 'target=com.acme%2Ftool&action=admission.withdraw');
    expect(withdrawn).toMatchObject([{ target: { version: '1.0.0' }, actor: { subject: 'wim' } }]);
  });

  it('leaves what only a block holds to a caller who may delete it', async () => {
    const name = 'com.acme/blocked';
    const platform = { sub: 'pia', org: 'acme', team: 'platform' };
    const item = async () => (await itemsFor(as(WRITER), `?name=${encodeURIComponent(name)}`))[0] as Item;
    await publish('1.0.0', WRITER, name);
    expect((await decide(as(platform), await item(), 'approve')).status).toBe(200);
    const blocks = as(SUPER_ADMIN);
    expect((await blocks.put('/v1/blocks/sec-7', { names: [name], reason: 'SEC-7' })).status).toBe(201);
    expect((await item()).reasons.map(({ policy }) => policy)).toEqual(['block']);
    expect(await itemsFor(as(platform), `?decidable=true&name=${encodeURIComponent(name)}`)).toEqual([]);
    for (const decision of ['approve', 'reject'])
      expectRefused(await decide(as(platform), await item(), decision), 409, 'already_decided');
    const left = { sub: 'wim', org: 'acme' };
    expectRefused(await decide(as(left), await item(), 'withdraw'), 409, 'already_decided');
    expect((await decide(as(platform), await item(), 'comment', { comment: 'why' })).status).toBe(200);
    expect((await blocks.delete('/v1/blocks/sec-7')).status).toBe(204);
    expect(await served(as(SUPER_ADMIN))).toContain(`${name}@1.0.0`);
    await blocks.put('/v1/blocks/sec-7', { names: [name], reason: 'SEC-7' });
    expect((await decide(as(WRITER), await item(), 'withdraw')).status).toBe(200);
    await blocks.delete('/v1/blocks/sec-7');
    expect(await served(as(SUPER_ADMIN))).not.toContain(`${name}@1.0.0`);
  });
});
