import { beforeAll, describe, expect, it } from 'vitest';
import { aServer } from '../support/documents.js';
import { aFolder } from '../support/folder.js';
import { aKey } from '../support/registry-keys.js';
import { aService } from '../support/service.js';

const ROLES = {
  superAdmin: [{ role: 'root-of-all' }],
  manageSources: [{ role: 'keeper-of-sources' }],
  manageRegistries: [{ role: 'keeper-of-registries' }],
  manageEntries: [{ role: ['writer', 'ghost-writer'], org: 'acme' }, { badge: 'secret-badge' }],
};
const SECRET = /root-of-all|keeper-of|ghost-writer|secret-badge/;

const ROOT = { sub: 'sigrid', role: 'root-of-all' };
const WRITER = { sub: 'wim', org: 'acme', role: 'writer' };
const KEEPER = { sub: 'ada', org: 'acme', role: 'keeper-of-registries' };

const folder = aFolder();
for (const name of ['reader', 'stranger', 'expired']) folder.write(name, aKey());
const key = (name: string, claims: Record<string, string>, expires = '2999-12-31') => ({
  name,
  secretFile: folder.file(name),
  claims,
  expires,
});

const service = aService({ mode: 'full', roles: ROLES })
  .source('published', { kind: 'managed' })
  .registry('main', {
    sources: ['published'],
    claims: { org: 'acme' },
    keys: [
      key('reader', { org: 'acme', team: 'data' }),
      key('stranger', { org: 'contoso' }),
      key('expired', { org: 'acme', team: 'data' }, '2026-01-01'),
    ],
  })
  .registry('lobby', { sources: ['published'] })
  .runs();
const NAME = 'io.acme/ours';
const AT = '/v1/entries/server/io.acme%2Fours/access';
beforeAll(async () => {
  const body = { server: aServer(NAME), claims: { org: 'acme' } };
  expect((await service.as(WRITER).post('/v1/entries', body)).status).toBe(201);
});

const managersIn = ({ json }: { json: unknown }) =>
  (json as { managedBy: { role: string; sentence: string }[] }).managedBy.map(
    ({ role, sentence }) => `${role}: ${sentence}`,
  );

describe('who manages a resource', () => {
  it('lists the rules that the asker satisfies, with the values they hold', async () => {
    const entry = await service.as(WRITER).get(AT);
    expect(entry.text).not.toMatch(SECRET);
    expect(managersIn(entry)).toEqual([
      'manageEntries: role is writer and org is acme',
      'superAdmin: every super-admin',
    ]);
    const registry = await service.as(KEEPER).get('/v1/registries/main/access');
    expect(managersIn(registry)).toEqual([
      'manageRegistries: role is keeper-of-registries and org is acme',
      'superAdmin: every super-admin',
    ]);
    const ofEntry = await service
      .as(KEEPER)
      .get(`/v1/registries/main/access?entry=${encodeURIComponent(NAME)}`);
    expect(managersIn(ofEntry)).toEqual(managersIn(registry));
  });

  it('lists all rules to super-admins', async () => {
    expect(managersIn(await service.as(ROOT).get(AT))).toEqual([
      'manageEntries: role is writer or ghost-writer and org is acme',
      'manageEntries: badge is secret-badge and org is acme',
      'superAdmin: role is root-of-all',
    ]);
  });
});

describe('an explanation about another caller, for an asker who is not a super-admin,', () => {
  const text = async (asker: object, claims: object, more: object) => {
    const body = { registry: 'main', as: { claims }, ...more };
    return (await service.as({ ...asker }).post('/v1/access/explain', body)).text;
  };
  const entry = { type: 'server', name: NAME };
  const hidden = { type: 'server', name: 'io.acme/none' };
  const GUESSES = [
    { role: 'root-of-all' },
    { role: 'keeper-of-registries' },
    { role: 'keeper-of-sources' },
    { role: 'ghost-writer', org: 'acme' },
    { badge: 'secret-badge' },
  ];

  it.each([
    ['see', { entry }],
    ['see an unknown entry', { entry: hidden }],
    ['manage', { action: 'manage', entry }],
    ['manage a registry', { action: 'manage' }],
    ['publish', { action: 'publish', entry, claims: { org: 'acme' } }],
    ['publish through a registry', { action: 'publish', entry }],
  ])('reveals no rules: %s', async (_, question) => {
    for (const guess of GUESSES) {
      const missed = Object.fromEntries(
        Object.entries(guess).map(([name, value]) => [name, name === 'org' ? value : `${value}-not`]),
      );
      const answer = await text(WRITER, guess, question);
      expect(answer, JSON.stringify(guess)).toContain('"decision"');
      expect(answer).toBe(await text(WRITER, missed, question));
    }
  });

  it('applies only the rules that the asker also satisfies', async () => {
    const rolesFor = async (asker: object, claims: object) => {
      const { steps } = JSON.parse(await text(asker, claims, { action: 'manage', entry })) as {
        steps: { step: string; outcome: string }[];
      };
      return steps.find(({ step }) => step === 'roles')?.outcome;
    };
    expect(await rolesFor(WRITER, { role: 'writer', org: 'acme' })).toBe('passed');
    expect(await rolesFor(WRITER, { role: 'reader', org: 'acme' })).toBe('unknown_to_you');
    expect(await rolesFor(ROOT, { role: 'ghost-writer', org: 'acme' })).toBe('passed');
    expect(await rolesFor(ROOT, { role: 'reader', org: 'acme' })).toBe('refused');
  });

  it('treats the other caller as an ordinary caller in previews, even if they are a super-admin', async () => {
    const preview = async (asker: object, role: string) => {
      const body = { registry: 'main', as: { claims: { role } } };
      return (await service.as({ ...asker }).post('/v1/access/preview', body)).text;
    };
    expect(await preview(KEEPER, 'root-of-all')).toBe(await preview(KEEPER, 'root-of-none'));
    expect(await preview(ROOT, 'root-of-all')).toContain(NAME);
  });
});

describe('who has access', () => {
  it('lists the names of the keys that grant access, not the keys themselves', async () => {
    const keysIn = async (asker: object, path: string) =>
      ((await service.as({ ...asker }).get(path)).json as { keys: unknown }).keys;
    const reader = [{ registry: 'main', name: 'reader' }];
    expect(await keysIn(WRITER, AT)).toEqual(reader);
    expect(await keysIn(KEEPER, '/v1/registries/main/access')).toEqual(reader);
    expect(await keysIn(KEEPER, `/v1/registries/main/access?entry=${encodeURIComponent(NAME)}`)).toEqual(
      reader,
    );
    expect(await keysIn(KEEPER, '/v1/registries/lobby/access')).toEqual([]);
    const relabelled = await service
      .as(ROOT)
      .put(AT.replace('/access', '/claims'), { claims: { org: 'contoso' } });
    expect(relabelled.status).toBe(204);
    expect(await keysIn(ROOT, AT)).toEqual([]);
  });
});
