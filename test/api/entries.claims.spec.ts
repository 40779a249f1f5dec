import { describe, expect, it } from 'vitest';
import { ACME_PLATFORM, ACME_WRITER, SUPER_ADMIN } from '../support/callers.js';
import type { Document } from '../support/documents.js';
import type { Headers } from '../support/http.js';
import { expectRefused } from '../support/matchers.js';
import {
  aName,
  anyone,
  aPublication,
  aPublishingService,
  type ByMode,
  consumerAt,
  contentOf,
  entryAt,
  inMode,
  MODES,
  outcome,
  publish,
  rowsIn,
  seed,
  TYPES,
  TYPES_IN,
} from '../support/publishing.js';

const OK: ByMode = ['ok', 'ok', 'ok'];
const BEYOND: ByMode = ['ok', '400 claims_not_subset', '400 claims_not_subset'];
const HIDDEN: ByMode = ['ok', 'ok', '404 entry_not_found'];
const HIDDEN_AND_BEYOND: ByMode = ['ok', '400 claims_not_subset', '404 entry_not_found'];

const PLATFORM = { org: 'acme', team: 'platform' };
const CONTOSO = { org: 'contoso', team: 'platform' };
const TEAMS = { team: ['platform', 'data'] };
const BOTH = { ...ACME_WRITER, team: ['platform', 'data'] };

type Case = readonly [what: string, existing: Document, claims: Document, held: Document, answers: ByMode];

// reference/publishing: the caller must cover the old claims, or gets 404 (reference/errors), and the new claims, or gets 400.
const CHANGES: readonly Case[] = [
  ['old and new claims are held', PLATFORM, { org: 'acme' }, ACME_WRITER, OK],
  ['unchanged claims', PLATFORM, PLATFORM, ACME_WRITER, OK],
  ['old claims of another organization', CONTOSO, { org: 'acme' }, ACME_WRITER, HIDDEN],
  ['old claims with a key that is not held', { ...PLATFORM, tier: 'gold' }, PLATFORM, ACME_WRITER, HIDDEN],
  ['old claims with that key held', { ...PLATFORM, tier: 'gold' }, PLATFORM, { ...ACME_WRITER, tier: 'gold' }, OK],
  ['new claims of another organization', PLATFORM, CONTOSO, ACME_WRITER, BEYOND],
  ['new claims of another organization that is held', PLATFORM, CONTOSO, { ...ACME_WRITER, org: ['acme', 'contoso'] }, OK],
  ['new claims with a key that is not held', PLATFORM, { ...PLATFORM, tier: 'gold' }, ACME_WRITER, BEYOND],
  ['neither old nor new claims are held', CONTOSO, { org: 'contoso' }, ACME_WRITER, HIDDEN_AND_BEYOND],
  ['an old array that is fully held', TEAMS, { team: 'data' }, BOTH, OK],
  ['an old array that is partly held', TEAMS, { team: 'platform' }, ACME_WRITER, HIDDEN],
  ['a new array that is fully held', { team: 'data' }, { team: ['data', 'platform'] }, BOTH, OK],
  ['a new array that is partly held', { team: 'platform' }, TEAMS, ACME_WRITER, BEYOND],
  ['clearing the claims', PLATFORM, {}, ACME_WRITER, OK],
  ['clearing the claims of another organization', CONTOSO, {}, ACME_WRITER, HIDDEN],
  ['claims for an entry without claims', {}, PLATFORM, ACME_WRITER, OK],
  ['claims that are not held, for an entry without claims', {}, CONTOSO, ACME_WRITER, BEYOND],
  ['no claims for an entry without claims', {}, {}, ACME_WRITER, OK],
  ['old claims that a super-admin does not hold', PLATFORM, { role: 'super-admin' }, SUPER_ADMIN, OK],
  ['new claims that a super-admin does not hold', PLATFORM, CONTOSO, SUPER_ADMIN, ['ok', BEYOND[1], 'ok']],
  ['clearing the claims as a super-admin', PLATFORM, {}, SUPER_ADMIN, OK],
]; // oxfmt-ignore

const full = aPublishingService('full')
  .source('file', {
    servers: [{ name: 'io.acme/filed', description: 'Filed', version: '1.0.0' }],
    skills: [{ namespace: 'io.acme', name: 'filed', description: 'Filed', version: '1.0.0' }],
    claims: { org: 'acme' },
  })
  .runs();

describe.each(MODES)('in %s mode', (mode) => {
  const service = mode === 'full' ? full : aPublishingService(mode).runs();

  describe.each(TYPES_IN[mode])('PUT of the claims of a %s', (type) => {
    it.each(rowsIn(mode, CHANGES))(
      'is allowed or refused by old and new claims: %s',
      async (_what, existing, claims, held, answers) => {
        const name = aName();
        await seed(service, type, name, existing);
        const at = entryAt(type, name, '/claims');
        const reply = await service.as(held).put(at, { claims });
        expect(outcome(reply)).toBe(inMode(answers, mode));
        if (reply.status < 300)
          expect({ status: reply.status, text: reply.text }).toEqual({ status: 204, text: '' });
        const expected = reply.status === 204 ? claims : existing;
        const stored = (await anyone(service).get(at)).json as { claims: Document };
        expect(sorted(stored.claims)).toEqual(sorted(expected));
      },
    );

    // reference/access: later versions must equal the current claims of the entry.
    it('applies to later versions', async () => {
      const name = aName();
      const writer = service.as({ ...ACME_WRITER, role: ['writer', 'super-admin'] });
      await publish(writer, type, name, PLATFORM);
      await writer.put(entryAt(type, name, '/claims'), { claims: { org: 'acme' } });
      const later = (claims: Document) =>
        writer.post('/v1/entries', aPublication(type, name, claims, '2.0.0'));
      expectRefused(await later(PLATFORM), 400, 'claims_mismatch');
      expect((await later({ org: 'acme' })).json).toMatchObject({ claims: { org: 'acme' } });
    });
  });
});

const INVALID: readonly [what: string, body: unknown][] = [
  ['no member "claims"', {}],
  ['another member instead', { labels: PLATFORM }],
  ['a further member', { claims: PLATFORM, name: 'io.acme/other' }],
  ['null', { claims: null }],
  ['a list', { claims: [] }],
  ['a string', { claims: 'org' }],
  ['an empty list of values', { claims: { org: [] } }],
  ['a number', { claims: { org: 1 } }],
  ['a nested map', { claims: { org: { name: 'acme' } } }],
  ['iat', { claims: { org: 'acme', iat: '1' } }],
  ['a claim without a name', { claims: { '': 'acme' } }],
  ['a body that is a list', []],
  ['no body', undefined],
];

describe.each(TYPES)('a %s of one team', (type) => {
  const service = full;
  const data = { org: 'acme', team: 'data' };
  const lead = () => service.as({ ...ACME_WRITER, team: ['platform', 'data'] });

  it('moves to another team with all its versions', async () => {
    const name = aName();
    await publish(lead(), type, name, PLATFORM, '1.0.0', '2.0.0');
    const seen = async (claims: Document) => {
      const replies = ['/versions/1.0.0', '/versions/2.0.0', '/versions'].map((below) =>
        service.as(claims).get(consumerAt(type, name, below)),
      );
      return (await Promise.all(replies)).map(({ status }) => status);
    };
    expect([await seen(ACME_PLATFORM), await seen(data)]).toEqual([
      [200, 200, 200],
      [404, 404, 404],
    ]);
    expect((await lead().put(entryAt(type, name, '/claims'), { claims: data })).status).toBe(204);
    expect([await seen(ACME_PLATFORM), await seen(data)]).toEqual([
      [404, 404, 404],
      [200, 200, 200],
    ]);
    const versions = await service.database.query(
      `select count(*)::int as count from entry_version v join entry e on e.id = v.entry_id
       join claim_set c on c.id = e.claim_set_id where e.name = $1 and c.claims = $2`,
      [name, data],
    );
    expect(versions).toEqual([{ count: 2 }]);
  });

  it('without claims is visible to super-admins only, and still reachable for publishers', async () => {
    const name = aName();
    await publish(lead(), type, name, PLATFORM);
    await lead().put(entryAt(type, name, '/claims'), { claims: {} });
    expect((await service.as(ACME_PLATFORM).get(consumerAt(type, name, '/versions'))).status).toBe(404);
    expect((await lead().get(consumerAt(type, name, '/versions'))).status).toBe(404);
    expect((await service.as(SUPER_ADMIN).get(consumerAt(type, name, '/versions'))).status).toBe(200);
    expect((await service.as(ACME_WRITER).get(entryAt(type, name, '/claims'))).json).toEqual({ claims: {} });
    await service.as(ACME_WRITER).put(entryAt(type, name, '/claims'), { claims: PLATFORM });
    expect((await service.as(ACME_PLATFORM).get(consumerAt(type, name, '/versions'))).status).toBe(200);
  });

  it.each(type === 'server' ? INVALID : INVALID.slice(0, 1))(
    'keeps its claims when the request has %s',
    async (_what, body) => {
      const name = aName();
      await publish(lead(), type, name, PLATFORM);
      const before = await contentOf(service);
      expectRefused(await lead().put(entryAt(type, name, '/claims'), body), 400, 'invalid_body');
      // 404 comes before the check of the body.
      const stranger = service.as({ ...ACME_WRITER, team: 'data' });
      expectRefused(await stranger.put(entryAt(type, name, '/claims'), body), 404, 'entry_not_found');
      expect(await contentOf(service)).toEqual(before);
      expect((await lead().put(entryAt(type, name, '/claims'), { claims: PLATFORM })).status).toBe(204);
    },
  );

  // reference/publishing: PUT accepts If-Match with the ETag of the GET.
  it('returns 412 for a stale If-Match', async () => {
    const name = aName();
    await publish(lead(), type, name, PLATFORM);
    const at = entryAt(type, name, '/claims');
    const tag = async () => String((await lead().get(at)).headers['etag']);
    const set = (team: string, headers: Headers) =>
      lead().put(at, { claims: { org: 'acme', team } }, headers);
    const first = await tag();
    expectRefused(await set('data', { 'If-None-Match': '*' }), 412, 'precondition_failed');
    expectRefused(await set('data', { 'If-Match': '"other.tag"' }), 412, 'precondition_failed');
    expect((await set('data', { 'If-Match': first })).status).toBe(204);
    expectRefused(await set('platform', { 'If-Match': first }), 412, 'precondition_failed');
    expect((await lead().get(at)).json).toEqual({ claims: data });
    expect((await set('platform', { 'If-Match': await tag() })).status).toBe(204);
    expect((await set('data', { 'If-Match': '*' })).status).toBe(204);
  });

  it('is 404 if it is outside the managed source', async () => {
    for (const caller of [service.as({ ...ACME_WRITER }), service.as(SUPER_ADMIN)])
      for (const name of ['io.acme/filed', aName()]) {
        expectRefused(await caller.get(entryAt(type, name, '/claims')), 404, 'entry_not_found');
        const reply = await caller.put(entryAt(type, name, '/claims'), { claims: { org: 'acme' } });
        expectRefused(reply, 404, 'entry_not_found');
      }
  });

  it('is found by %2F and %2f in the name, not by a plain slash', async () => {
    const name = aName();
    await publish(lead(), type, name, PLATFORM);
    const [namespace, short] = name.split('/');
    const get = (path: string) => lead().get(`/v1/entries/${type}/${path}/claims`);
    expect((await get(`${namespace}%2F${short}`)).json).toEqual({ claims: PLATFORM });
    expect((await get(`${namespace}%2f${short}`)).json).toEqual({ claims: PLATFORM });
    expectRefused(await get(`${namespace}/${short}`), 404, 'route_not_found');
    expectRefused(await get(`${namespace}%252F${short}`), 404, 'entry_not_found');
    expectRefused(await get(`${namespace}`), 404, 'entry_not_found');
    expectRefused(await get(`${namespace}%2F${short}%00`), 404, 'entry_not_found');
    const other = type === 'server' ? 'skill' : 'server';
    expectRefused(await lead().get(entryAt(other, name, '/claims')), 404, 'entry_not_found');
    for (const odd of ['servers', 'Server', '__proto__', 'agent'])
      expectRefused(await lead().get(entryAt(odd, name, '/claims')), 404, 'entry_not_found');
  });
});

describe('with arrayValues "any" for reads, a server of two teams', () => {
  const type = 'server';
  const service = aPublishingService('full', { arrayValues: 'any' }).runs();
  const writer = () => service.as(ACME_WRITER);

  // reference/access: of existing claims, the caller must hold one value; of new claims, all values.
  it('is reachable with one value, and accepts only fully held claims', async () => {
    const name = aName();
    await seed(service, type, name, TEAMS);
    const set = (claims: Document) => writer().put(entryAt(type, name, '/claims'), { claims });
    expectRefused(await set(TEAMS), 400, 'claims_not_subset');
    expectRefused(await set({ team: ['platform', 'web'] }), 400, 'claims_not_subset');
    const stranger = service.as({ ...ACME_WRITER, team: 'web' });
    expectRefused(await stranger.put(entryAt(type, name, '/claims'), { claims: {} }), 404, 'entry_not_found');
    const later = await writer().post('/v1/entries', aPublication(type, name, TEAMS, '2.0.0'));
    expectRefused(later, 400, 'claims_not_subset');
    expect((await set({ team: ['platform'] })).status).toBe(204);
  });
});

/** Normalizes arrays, which are sets. */
function sorted(claims: Document): Document {
  return Object.fromEntries(
    Object.entries(claims).map(([key, value]) => [key, Array.isArray(value) ? [...value].sort() : value]),
  );
}
