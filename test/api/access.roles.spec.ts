import { describe, expect, it } from 'vitest';
import { outcomeOf } from '../support/answers.js';
import { aServer } from '../support/documents.js';
import type { Reply } from '../support/http.js';
import { aService } from '../support/service.js';
import { expectOneClaimApart } from '../support/claims-pairs.js';

type TokenClaims = Record<string, unknown>;

/** A route that requires the role. */
const ROUTE_OF = { manageSources: '/v1/sources', manageRegistries: '/v1/registries' } as const;

function rolesIn(reply: Reply): string[] {
  expect(reply.status).toBe(200);
  return (reply.json as { roles: string[] }).roles;
}

describe('role rules', () => {
  const service = aService({
    mode: 'full',
    roles: {
      superAdmin: [],
      manageSources: [
        { org: 'acme', role: 'admin' },
        { group: ['ops', 'sre'] },
        { org: 'contoso', role: 'admin', site: ['east', 'west'] },
      ],
      manageRegistries: [
        { level: '3' },
        { staff: 'true' },
        { ratio: '0.5' },
        { 'realm_access.roles': 'admin' },
        { constructor: 'admin' },
        { scope: 'registry:write' },
        { sub: 'rita' },
        { none: 'null' },
      ],
    },
  })
    .source('tools', { claims: { org: 'acme' }, servers: [aServer('io.acme/a')] })
    .registry('tools', { sources: ['tools'] })
    .runs();

  const rows: [keyof typeof ROUTE_OF, string, TokenClaims, TokenClaims][] = [
    ['manageSources', 'all keys of a map', { org: 'acme', role: 'admin' }, { org: 'acme' }],
    ['manageSources', 'half of a map is not enough', { org: 'acme', role: 'admin' }, { org: 'acme', role: 'reader' }],
    ['manageSources', 'halves of two maps do not add up', { org: 'contoso', role: 'admin', site: 'east' }, { org: 'contoso', role: 'admin' }],
    ['manageSources', 'a second map of the list', { org: 'contoso', group: 'ops' }, { org: 'contoso', group: 'dev' }],
    ['manageSources', 'the first alternative', { group: 'ops' }, { group: 'ops,sre' }],
    ['manageSources', 'the second alternative', { group: 'sre' }, {}],
    ['manageSources', 'an alternative and other keys', { org: 'contoso', role: 'admin', site: 'west' }, { org: 'contoso', role: 'admin', site: 'north' }],
    ['manageSources', 'any element of a token array', { group: ['dev', 'sre'] }, { group: ['dev', 'qa'] }],
    ['manageSources', 'array elements for each key', { org: ['x', 'acme'], role: ['admin'] }, { org: ['x', 'acme'], role: [] }],
    ['manageSources', 'additional claims', { org: 'acme', role: 'admin', team: 'x' }, { org: 'Acme', role: 'admin', team: 'x' }],
    ['manageRegistries', 'a number', { level: 3 }, { level: 30 }],
    ['manageRegistries', 'a number in an array', { level: [1, 3] }, { level: [1, 2] }],
    ['manageRegistries', 'a number written as text', { level: '3' }, { level: '3.0' }],
    ['manageRegistries', 'a fraction', { ratio: 0.5 }, { ratio: 5 }],
    ['manageRegistries', 'a boolean', { staff: true }, { staff: false }],
    ['manageRegistries', 'a truthy number is not true', { staff: true }, { staff: 1 }],
    ['manageRegistries', 'null is not a value', { none: 'null' }, { none: null }],
    ['manageRegistries', 'an object is not a value', { level: 3 }, { level: { 3: 3, level: 3 } }],
    ['manageRegistries', 'a key with a dot, not a path', { 'realm_access.roles': 'admin', realm_access: { roles: ['admin'] } }, { realm_access: { roles: ['admin'] } }],
    ['manageRegistries', 'scope compares as one text', { scope: 'registry:write' }, { scope: 'registry:read registry:write' }],
    ['manageRegistries', 'the subject', { sub: 'rita' }, { sub: 'Rita' }],
    ['manageRegistries', 'a key inherited from Object must be held', { constructor: 'admin' }, {}],
    ['manageRegistries', '__proto__ is ignored', { ...underProto({ level: 3 }), level: 3 }, underProto({ level: 3 })],
    ['manageSources', 'constructor is ignored', { constructor: { prototype: { group: 'ops' } }, group: 'ops' }, { constructor: { prototype: { group: 'ops' } } }],
    ['manageSources', 'a claim named like a role grants nothing', { manageSources: true, roles: ['manageSources'], group: 'ops' }, { manageSources: true, roles: ['manageSources'] }],
  ]; // oxfmt-ignore

  it.each(rows)('grant %s (%s) to %j', async (role, _rule, granted) => {
    const caller = service.as(granted);
    expect(rolesIn(await caller.get('/v1/me'))).toEqual([role]);
    expect(outcomeOf(await caller.get(ROUTE_OF[role]))).toBe('200');
  });

  it.each(rows)(
    'distinguish callers who differ in one claim, for %s (%s): %j is granted, %j is refused',
    async (role, _rule, granted, refused) => {
      expectOneClaimApart(granted, refused);
      const caller = service.as(refused);
      expect(rolesIn(await caller.get('/v1/me'))).toEqual([]);
      expect(outcomeOf(await caller.get(ROUTE_OF[role]))).toBe('403 role_required');
    },
  );

  it('can grant several roles, listed in the documented order', async () => {
    const caller = service.as({ level: 3, group: 'ops', role: 'writer' });
    expect(rolesIn(await caller.get('/v1/me'))).toEqual([
      'manageSources',
      'manageRegistries',
      'manageEntries',
    ]);
  });

  it('grant superAdmin only through a rule', async () => {
    const caller = service.as({ role: 'super-admin', superAdmin: true });
    expect(rolesIn(await caller.get('/v1/me'))).toEqual([]);
  });
});

describe('GET /v1/me in full mode', () => {
  const service = aService({ mode: 'full' })
    .source('tools', { servers: [aServer('io.acme/a')] })
    .registry('tools', { sources: ['tools'] })
    .runs();

  it.each([
    [{ sub: 'nemo' }, []],
    [{ sub: 'wim', role: 'writer' }, ['manageEntries']],
    [{ sub: 'ada', role: 'admin' }, ['manageSources', 'manageRegistries']],
    [{ sub: 'alma', role: ['writer', 'admin'] }, ['manageSources', 'manageRegistries', 'manageEntries']],
    [{ sub: 'sigrid', role: 'super-admin' }, ['superAdmin']],
    [
      { sub: 'all', role: ['super-admin', 'admin', 'writer'] },
      ['superAdmin', 'manageSources', 'manageRegistries', 'manageEntries'],
    ],
  ])('returns the subject and roles of %j: %j', async (claims, roles) => {
    const reply = await service.as(claims).get('/v1/me');
    expect({ status: reply.status, body: reply.json as unknown }).toEqual({
      status: 200,
      body: { subject: claims.sub, roles },
    });
  });

  it('requires a token', async () => {
    expect(outcomeOf(await service.get('/v1/me'))).toBe('401 token_missing');
  });

  it('requires a token with a subject or a client', async () => {
    const nameless = { sub: undefined, role: 'writer' };
    expect(outcomeOf(await service.as(nameless).get('/v1/me'))).toBe('401 no_subject');
    const reply = await service.as({ ...nameless, client_id: 'ci' }).get('/v1/me');
    expect(reply.json).toEqual({ subject: 'ci', roles: ['manageEntries'] });
  });
});

function underProto(claims: TokenClaims): TokenClaims {
  return JSON.parse(`{"__proto__":${JSON.stringify(claims)}}`) as TokenClaims;
}
