import { describe, expect, it } from 'vitest';
import type { Document } from '../support/documents.js';
import { expectRefused } from '../support/matchers.js';
import {
  anyone,
  aPublication,
  aPublishingService,
  type ByMode,
  contentOf,
  entryAt,
  inMode,
  MODES,
  outcome,
  publish,
  rowsIn,
  TYPES_IN,
} from '../support/publishing.js';
import { aService, type ServiceUnderTest } from '../support/service.js';

const RED = { org: 'red' };
const BLUE = { org: 'blue' };
const RED_WRITER = { sub: 'rob', ...RED, role: 'writer' };
const BLUE_WRITER = { sub: 'bea', ...BLUE, role: 'writer' };
const BOTH_WRITER = { sub: 'bob', org: ['red', 'blue'], role: 'writer' };
const SUPER_ADMIN = { sub: 'sigrid', role: 'super-admin' };

const NAMES = [
  { include: ['com.red/core-*'], claims: { ...RED, team: 'core' } },
  { include: ['com.red/*', 'com.red.*'], claims: RED },
  { include: ['com.blue/*'], claims: BLUE },
];

const OK: ByMode = ['ok', 'ok', 'ok'];
const RESERVED: ByMode = ['ok', '400 name_reserved', '400 name_reserved'];
const NOT_FOR_ADMINS: ByMode = ['ok', '400 claims_not_subset', 'ok'];

type Case = readonly [what: string, held: Document, name: string, claims: Document, answers: ByMode];

// reference/publishing: token and entry claims must cover the rule's claims. Names without a rule are free.
const PUBLISHED: readonly Case[] = [
  ['a name reserved for another organization', RED_WRITER, 'com.blue/payments', RED, RESERVED],
  ['a name reserved for the publisher', BLUE_WRITER, 'com.blue/payments', BLUE, OK],
  ['a name reserved for another organization, in capital letters', RED_WRITER, 'com.blue/payments', RED, RESERVED],
  ['a name reserved by a second glob', RED_WRITER, 'com.red.lab/tool', RED, OK],
  ['a reserved name with the claims of another organization', BOTH_WRITER, 'com.red/tool', BLUE, RESERVED],
  ['a reserved name by a publisher of two organizations', BOTH_WRITER, 'com.red/tool', RED, OK],
  ['a reserved name with claims of both organizations', BOTH_WRITER, 'com.red/tool', { org: ['red', 'blue'] }, OK],
  ['a name of the first matching rule, partly held', RED_WRITER, 'com.red/core-tool', RED, RESERVED],
  ['a name of the first matching rule, fully held', { ...RED_WRITER, team: 'core' }, 'com.red/core-tool', { ...RED, team: 'core' }, OK],
  ['a free name', RED_WRITER, 'io.free/tool', RED, OK],
  ['a free name that resembles a reserved one', RED_WRITER, 'xcom.blue/tool', RED, OK],
  ['a reserved name by a super-admin', SUPER_ADMIN, 'com.blue/admin-tool', RED, NOT_FOR_ADMINS],
]; // oxfmt-ignore

let count = 0;

function named(mode: (typeof MODES)[number]): ServiceUnderTest {
  return aPublishingService(mode).source('published', { kind: 'managed', settings: { names: NAMES } });
}

/** A unique name in the namespace, in capitals for the row about them; skill names are always lower case. */
function fresh(name: string, what: string): string {
  count += 1;
  const [namespace = '', short = ''] = name.split('/');
  return `${what.includes('capital') ? namespace.toUpperCase() : namespace}/${short}-${count}`;
}

describe.each(MODES)('managed.names in %s mode', (mode) => {
  const service = named(mode).runs();

  describe.each(TYPES_IN[mode])('publishing a %s', (type) => {
    it.each(rowsIn(mode, PUBLISHED))(
      'is allowed or refused by name: %s',
      async (what, held, base, claims, answers) => {
        const name = fresh(base, what);
        const body = aPublication(type, name, claims);
        const before = await contentOf(service);
        expect(outcome(await service.as(held).post('/v1/entries', body))).toBe(inMode(answers, mode));
        if (inMode(answers, mode) !== 'ok') expect(await contentOf(service)).toEqual(before);
      },
    );

    it('a name without versions stays reserved', async () => {
      const name = fresh('com.blue/emptied', '');
      const blue = service.as(BLUE_WRITER);
      await publish(blue, type, name, BLUE);
      expect(outcome(await blue.delete(entryAt(type, name, '/versions/1.0.0')))).toBe('ok');
      const taken = await service.as(RED_WRITER).post('/v1/entries', aPublication(type, name, RED));
      expect(outcome(taken)).toBe(inMode(RESERVED, mode));
      if (mode === 'anonymous') return;
      await publish(blue, type, name, BLUE);
    });

    it('changed claims must still cover the claims of the rule', async () => {
      const name = fresh('com.red/relabelled', '');
      const both = service.as({ ...BOTH_WRITER, team: 'web' });
      const set = async (sender: typeof both, claims: Document) =>
        outcome(await sender.put(entryAt(type, name, '/claims'), { claims }));
      const claimsNow = async () => (await anyone(service).get(entryAt(type, name, '/claims'))).json;
      await publish(both, type, name, RED);
      for (const claims of [BLUE, {}]) expect(await set(both, claims)).toBe(inMode(RESERVED, mode));
      expect(await claimsNow()).toEqual({ claims: mode === 'anonymous' ? {} : RED });
      expect(await set(both, { ...RED, team: 'web' })).toBe('ok');
      expect(await set(service.as(SUPER_ADMIN), {})).toBe(inMode(['ok', '400 name_reserved', 'ok'], mode));
    });

    it('a free name accepts any claims', async () => {
      const name = fresh('io.free/relabelled', '');
      const both = service.as(BOTH_WRITER);
      await publish(both, type, name, RED);
      for (const claims of [BLUE, {}])
        expect(outcome(await both.put(entryAt(type, name, '/claims'), { claims }))).toBe('ok');
    });
  });
});

describe('managed.names of a source created through the API', () => {
  const service = aService({ mode: 'full' }).runs();
  const admin = () => service.as({ ...SUPER_ADMIN });
  const put = (names: unknown) => admin().put('/v1/sources/made', { managed: { names }, claims: {} });

  it('apply from the next request and are returned as given', async () => {
    expect((await put(NAMES)).status).toBe(201);
    const { managed } = (await admin().get('/v1/sources/made')).json as { managed: Document };
    expect(managed).toEqual({ names: NAMES });
    expect((await put(managed['names'])).status).toBe(200);
    const take = () => service.as(RED_WRITER).post('/v1/entries', aPublication('server', 'com.blue/a', RED));
    expectRefused(await take(), 400, 'name_reserved');
    expect((await put([])).status).toBe(200);
    expect(outcome(await take())).toBe('ok');
    expect((await put(NAMES)).status).toBe(200);
    const later = aPublication('server', 'com.blue/a', RED, '2.0.0');
    expectRefused(await service.as(RED_WRITER).post('/v1/entries', later), 400, 'name_reserved');
    expect((await admin().put('/v1/sources/made', { managed: {}, claims: {} })).status).toBe(200);
    expect(outcome(await service.as(RED_WRITER).post('/v1/entries', later))).toBe('ok');
  });

  const rule = NAMES[1];
  it.each<[what: string, names: unknown, twin: unknown]>([
    ['an object instead of a list', rule, [rule]],
    ['a rule without globs', [{ claims: RED }], [{ include: ['*'], claims: RED }]],
    ['an empty list of globs', [{ include: [], claims: RED }], [{ include: ['a'], claims: RED }]],
    ['a glob that is not text', [{ include: [1], claims: RED }], [{ include: ['1'], claims: RED }]],
    ['a glob with a bracket', [{ include: ['[ab]/*'], claims: RED }], [{ include: ['?/*'], claims: RED }]],
    ['a rule without claims', [{ include: ['a'] }], [{ include: ['a'], claims: RED }]],
    ['empty claims', [{ include: ['a'], claims: {} }], [{ include: ['a'], claims: BLUE }]],
    ['nested claims', [{ include: ['a'], claims: { a: { b: 'c' } } }], [{ include: ['a'], claims: { a: ['c'] } }]],
    ['an unknown member', [{ ...rule, exclude: [] }], [rule, rule]],
    ['21 globs', [{ include: Array(21).fill('a'), claims: RED }], [{ include: Array(20).fill('a'), claims: RED }]],
    ['201 rules', Array(201).fill(rule), Array(200).fill(rule)],
  ])('return 400 for %s', async (_what, names, twin) => {
    expectRefused(await put(names), 400, 'invalid_body');
    expect((await put(twin)).status).toBeLessThan(300);
  }); // oxfmt-ignore
});
