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
/** Of two teams, so that what is refused is not beyond the token. */
const WRITER = { ...ACME_WRITER, team: ['platform', 'data', 'web'] };
/** Holds all of that as well. */
const ADMIN = { ...WRITER, ...SUPER_ADMIN };

type Case = readonly [
  says: string,
  first: Document,
  held: Document,
  claims: Document | undefined,
  answers: ByMode,
];

// spec §4.2 rule 3, contract §4: exactly the claims of the first version. Order and repetitions say nothing.
const LATER_VERSIONS: readonly Case[] = [
  ['the same claims', PLATFORM, WRITER, PLATFORM, OK],
  ['the keys in another order', PLATFORM, WRITER, { team: 'platform', org: 'acme' }, OK],
  ['the same array', TEAMS, WRITER, TEAMS, OK],
  ['an array in another order', TEAMS, WRITER, { org: 'acme', team: ['data', 'platform'] }, OK],
  ['a value twice in an array', TEAMS, WRITER, { ...TEAMS, team: ['data', 'platform', 'data'] }, OK],
  ['an array of the one string', PLATFORM, WRITER, { ...PLATFORM, team: ['platform'] }, OK],
  ['the string of an array of one', { team: ['data'] }, WRITER, { team: 'data' }, OK],
  ['a claim less', PLATFORM, WRITER, { org: 'acme' }, OTHER],
  ['a claim more', { org: 'acme' }, WRITER, PLATFORM, OTHER],
  ['another value', PLATFORM, WRITER, { org: 'acme', team: 'data' }, OTHER],
  ['one value of an array', TEAMS, WRITER, PLATFORM, OTHER],
  ['an array with a value more', TEAMS, WRITER, { ...TEAMS, team: ['platform', 'data', 'web'] }, OTHER],
  ['another key', { team: 'data' }, { ...WRITER, group: 'data' }, { group: 'data' }, OTHER],
  ['none', PLATFORM, WRITER, undefined, NONE],
  ['an empty map', PLATFORM, WRITER, {}, NONE],
  ['others, beyond the token', PLATFORM, WRITER, { org: 'contoso' }, BEYOND],
  ['the same claims, beyond the token', { org: 'contoso' }, WRITER, { org: 'contoso' }, ['ok', BEYOND[1], BEYOND[2]]],
  ['claims, where there were none', {}, WRITER, PLATFORM, OTHER],
  ['none, where there were none', {}, WRITER, undefined, ['ok', NONE[1], NONE[2]]],
  ['none, as a super-admin', PLATFORM, ADMIN, undefined, [NONE[0], NONE[1], 'ok']],
  ['an empty map, as a super-admin', PLATFORM, ADMIN, {}, [NONE[0], NONE[1], 'ok']],
  ['the same, as a super-admin', PLATFORM, ADMIN, PLATFORM, OK],
  ['others, as a super-admin', PLATFORM, ADMIN, { org: 'acme' }, OTHER],
  ['others beyond the token, as a super-admin', PLATFORM, SUPER_ADMIN, { org: 'x' }, [OTHER[0], BEYOND[1], OTHER[2]]],
  ['the same beyond the token, as a super-admin', PLATFORM, SUPER_ADMIN, PLATFORM, ['ok', BEYOND[1], 'ok']],
  ['none, where there were none, as a super-admin', {}, ADMIN, undefined, ['ok', NONE[1], 'ok']],
  ['claims, where there were none, as a super-admin', {}, ADMIN, PLATFORM, OTHER],
]; // prettier-ignore

describe.each(MODES)('in %s mode', (mode) => {
  const service = aPublishingService(mode).runs();

  describe.each(TYPES_IN[mode])('a later version of a %s', (type) => {
    it.each(LATER_VERSIONS)('is published with %s, or not', async (_says, first, held, claims, answers) => {
      const name = aName();
      await seed(service, type, name, first);
      const before: object = (await anyone(service).get(entryAt(type, name, '/claims'))).json;
      const reply = await service.as(held).post('/v1/entries', aPublication(type, name, claims, '1.1.0'));
      expect(outcome(reply)).toBe(inMode(answers, mode));
      if (reply.status === 201) expect(reply.json).toMatchObject({ version: '1.1.0', ...before });
      expect((await anyone(service).get(entryAt(type, name, '/claims'))).json).toEqual(before);
      const later = await anyone(service).get(entryAt(type, name, '/versions/1.1.0'));
      expect(later.status).toBe(reply.status === 201 ? 200 : 404);
    });

    it('leaves a type of the same name its own claims', async () => {
      const name = aName();
      const other = type === 'server' ? 'skill' : 'server';
      await seed(service, type, name, PLATFORM);
      const reply = await service.as(WRITER).post('/v1/entries', aPublication(other, name, { org: 'acme' }));
      expect(outcome(reply)).toBe('ok');
      expect((await anyone(service).get(entryAt(type, name, '/claims'))).json).toEqual({ claims: PLATFORM });
    });
  });
});

describe.each(TYPES)('a name of a %s that another team published first', (type) => {
  const service = aPublishingService('full').runs();
  const owner = { ...ACME_WRITER, team: 'platform' };
  const stranger = { ...ACME_WRITER, team: 'data' };
  const theirs = { org: 'acme', team: 'data' };

  it.each(['/v1/entries', '/v1/entries?dry_run=true', '/v1/entries/validate'])(
    'is refused by POST %s exactly as claims of one’s own that differ, for a new version and a taken one',
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

  it('looks like a free one to every other request', async () => {
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

  it('is free again when its last version was removed', async () => {
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
