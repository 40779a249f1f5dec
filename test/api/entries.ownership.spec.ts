import { describe, expect, it } from 'vitest';
import { ACME_WRITER, SUPER_ADMIN } from '../support/callers.js';
import type { Document } from '../support/documents.js';
import { expectRefused } from '../support/matchers.js';
import {
  aName,
  anyone,
  aPublication,
  aPublishingService,
  type ByMode,
  entryAt,
  inMode,
  MODES,
  outcome,
  publish,
  rowsIn,
  seed,
  timeless,
  TYPES,
  TYPES_IN,
} from '../support/publishing.js';

const OK: ByMode = ['ok', 'ok', 'ok'];
const OTHER: ByMode = ['400 claims_mismatch', '400 claims_mismatch', '400 claims_mismatch'];
const NONE: ByMode = ['400 claims_mismatch', '400 claims_required', '400 claims_required'];
const BEYOND: ByMode = ['400 claims_mismatch', '400 claims_not_subset', '400 claims_not_subset'];

const PLATFORM = { org: 'acme', team: 'platform' };
const TEAMS = { org: 'acme', team: ['platform', 'data'] };
/** A member of several teams, so that no refusal is due to claims that the token lacks. */
const WRITER = { ...ACME_WRITER, team: ['platform', 'data', 'web'] };
/** The same person as a super-admin. */
const ADMIN = { ...WRITER, ...SUPER_ADMIN };

type Case = readonly [
  what: string,
  first: Document,
  held: Document,
  claims: Document | undefined,
  answers: ByMode,
];

// reference/publishing, reference/access: exactly the claims of the first version, ignoring order and repetitions.
const LATER_VERSIONS: readonly Case[] = [
  ['the same claims', PLATFORM, WRITER, PLATFORM, OK],
  ['the keys in another order', PLATFORM, WRITER, { team: 'platform', org: 'acme' }, OK],
  ['the same array', TEAMS, WRITER, TEAMS, OK],
  ['an array in another order', TEAMS, WRITER, { org: 'acme', team: ['data', 'platform'] }, OK],
  ['a value twice in an array', TEAMS, WRITER, { ...TEAMS, team: ['data', 'platform', 'data'] }, OK],
  ['an array of the one string', PLATFORM, WRITER, { ...PLATFORM, team: ['platform'] }, OK],
  ['the string of an array of one', { team: ['data'] }, WRITER, { team: 'data' }, OK],
  ['one claim fewer', PLATFORM, WRITER, { org: 'acme' }, OTHER],
  ['one claim more', { org: 'acme' }, WRITER, PLATFORM, OTHER],
  ['another value', PLATFORM, WRITER, { org: 'acme', team: 'data' }, OTHER],
  ['one value of an array', TEAMS, WRITER, PLATFORM, OTHER],
  ['an array with one value more', TEAMS, WRITER, { ...TEAMS, team: ['platform', 'data', 'web'] }, OTHER],
  ['another key', { team: 'data' }, { ...WRITER, group: 'data' }, { group: 'data' }, OTHER],
  ['none', PLATFORM, WRITER, undefined, NONE],
  ['an empty map', PLATFORM, WRITER, {}, NONE],
  ['other claims, beyond the token', PLATFORM, WRITER, { org: 'contoso' }, BEYOND],
  ['the same claims, beyond the token', { org: 'contoso' }, WRITER, { org: 'contoso' }, ['ok', BEYOND[1], BEYOND[2]]],
  ['claims for an entry without claims', {}, WRITER, PLATFORM, OTHER],
  ['none for an entry without claims', {}, WRITER, undefined, ['ok', NONE[1], NONE[2]]],
  ['none, as a super-admin', PLATFORM, ADMIN, undefined, [NONE[0], NONE[1], 'ok']],
  ['an empty map, as a super-admin', PLATFORM, ADMIN, {}, [NONE[0], NONE[1], 'ok']],
  ['the same, as a super-admin', PLATFORM, ADMIN, PLATFORM, OK],
  ['other claims, as a super-admin', PLATFORM, ADMIN, { org: 'acme' }, OTHER],
  ['other claims beyond the token, as a super-admin', PLATFORM, SUPER_ADMIN, { org: 'x' }, [OTHER[0], BEYOND[1], OTHER[2]]],
  ['the same beyond the token, as a super-admin', PLATFORM, SUPER_ADMIN, PLATFORM, ['ok', BEYOND[1], 'ok']],
  ['none for an entry without claims, as a super-admin', {}, ADMIN, undefined, ['ok', NONE[1], 'ok']],
  ['claims for an entry without claims, as a super-admin', {}, ADMIN, PLATFORM, OTHER],
]; // oxfmt-ignore

const full = aPublishingService('full').runs();

describe.each(MODES)('in %s mode', (mode) => {
  const service = mode === 'full' ? full : aPublishingService(mode).runs();

  describe.each(TYPES_IN[mode])('a later version of a %s', (type) => {
    it.each(rowsIn(mode, LATER_VERSIONS))(
      'is allowed or refused by its claims: %s',
      async (_what, first, held, claims, answers) => {
        const name = aName();
        await seed(service, type, name, first);
        const before: object = (await anyone(service).get(entryAt(type, name, '/claims'))).json;
        const reply = await service.as(held).post('/v1/entries', aPublication(type, name, claims, '1.1.0'));
        expect(outcome(reply)).toBe(inMode(answers, mode));
        if (reply.status === 201) expect(reply.json).toMatchObject({ version: '1.1.0', ...before });
        expect((await anyone(service).get(entryAt(type, name, '/claims'))).json).toEqual(before);
        const later = await anyone(service).get(entryAt(type, name, '/versions/1.1.0'));
        expect(later.status).toBe(reply.status === 201 ? 200 : 404);
      },
    );

    it('does not affect an entry of another type with the same name', async () => {
      const name = aName();
      const other = type === 'server' ? 'skill' : 'server';
      await seed(service, type, name, PLATFORM);
      const reply = await service.as(WRITER).post('/v1/entries', aPublication(other, name, { org: 'acme' }));
      expect(outcome(reply)).toBe('ok');
      expect((await anyone(service).get(entryAt(type, name, '/claims'))).json).toEqual({ claims: PLATFORM });
    });
  });

  describe.each(TYPES_IN[mode])('another team’s %s', (type) => {
    const stranger = () => service.as({ ...ACME_WRITER, team: 'data' });
    const answer = inMode(['ok', 'ok', '404 entry_not_found'], mode);

    it('allows a change of its status, or is 404 in full mode', async () => {
      const name = aName();
      await publish(service.as(ACME_WRITER), type, name, PLATFORM);
      for (const below of ['/status', '/versions/1.0.0/status', '/versions/9.9.9/status']) {
        const expected = below.includes('9.9.9') && answer === 'ok' ? '404 version_not_found' : answer;
        const reply = await stranger().patch(entryAt(type, name, below), { status: 'deprecated' });
        expect(outcome(reply)).toBe(expected);
      }
    });

    it('allows the deletion of a version, or is 404 in full mode', async () => {
      const name = aName();
      await publish(service.as(ACME_WRITER), type, name, PLATFORM, '1.0.0', '2.0.0');
      const reply = await stranger().delete(entryAt(type, name, '/versions/2.0.0'));
      expect(outcome(reply)).toBe(answer);
      const kept = await anyone(service).get(entryAt(type, name, '/versions/2.0.0'));
      expect(kept.status).toBe(reply.status === 204 ? 404 : 200);
      const own = await service.as(ACME_WRITER).delete(entryAt(type, name, '/versions/1.0.0'));
      expect(own.status).toBe(204);
    });
  });
});

describe.each(TYPES)('the name of a %s published by another team', (type) => {
  const service = full;
  const owner = { ...ACME_WRITER, team: 'platform' };
  const stranger = { ...ACME_WRITER, team: 'data' };
  const theirs = { org: 'acme', team: 'data' };

  it.each(['/v1/entries', '/v1/entries?dry_run=true', '/v1/entries/validate'])(
    'is refused by POST %s with the same claims_mismatch for new and existing versions',
    async (path) => {
      const [hidden, own] = [aName(), aName()];
      await publish(service.as(owner), type, hidden, PLATFORM);
      await publish(service.as(stranger), type, own, { team: 'data' });
      const mismatch = await service.as(stranger).post(path, aPublication(type, own, theirs, '2.0.0'));
      expectRefused(mismatch, 400, 'claims_mismatch');
      for (const version of ['1.0.0', '2.0.0', '0.1.0']) {
        const reply = await service.as(stranger).post(path, aPublication(type, hidden, theirs, version));
        expectRefused(reply, 400, 'claims_mismatch');
        expect(timeless(reply)).toBe(timeless(mismatch));
        expect(Object.keys(reply.json).sort()).toEqual(['code', 'error', 'requestId']);
        expect(headersOf(reply)).toEqual(headersOf(mismatch));
      }
      const accepted = await service.as(owner).post(path, aPublication(type, hidden, PLATFORM, '2.0.0'));
      expect(accepted.status).toBe(path === '/v1/entries' ? 201 : 200);
    },
  );

  it('is the same 404 as a free name for every other request', async () => {
    const [hidden, free] = [aName(), aName()];
    await publish(service.as(owner), type, hidden, PLATFORM);
    for (const below of ['', '/claims', '/versions/1.0.0', '/versions/9.9.9']) {
      const reply = await service.as(stranger).get(entryAt(type, hidden, below));
      expectRefused(reply, 404, 'entry_not_found');
      expect(timeless(reply)).toBe(timeless(await service.as(stranger).get(entryAt(type, free, below))));
      expect((await service.as(owner).get(entryAt(type, hidden, below))).status).toBe(
        below === '/versions/9.9.9' ? 404 : 200,
      );
    }
  });

  it('is free once its last version is deleted', async () => {
    const name = aName();
    await publish(service.as(owner), type, name, PLATFORM, '1.0.0', '2.0.0');
    const again = () => service.as(stranger).post('/v1/entries', aPublication(type, name, theirs));
    await service.as(owner).delete(entryAt(type, name, '/versions/1.0.0'));
    expectRefused(await again(), 400, 'claims_mismatch');
    await service.as(owner).delete(entryAt(type, name, '/versions/2.0.0'));
    expect((await again()).json).toMatchObject({ claims: theirs });
  });
});

function headersOf({ headers }: { headers: Record<string, unknown> }): unknown {
  return { ...headers, date: '', 'x-request-id': '' };
}
