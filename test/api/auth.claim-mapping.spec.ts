import { describe, expect, it } from 'vitest';
import { aServer, type Document } from '../support/documents.js';
import { anIssuer, type Issuer } from '../support/issuer.js';
import { expectChallenge, expectRefused, versionsIn } from '../support/matchers.js';
import { aService } from '../support/service.js';

const partners = anIssuer({ client: { id: 'registry', secret: 'the secret of the registry' } }).runs();
const provider = ({ iss }: Issuer, name: string, more: Document = {}) => ({
  name,
  issuerUrl: iss,
  audience: 'registry',
  allowPrivateIP: true,
  ...more,
});
const MAPPED = [
  { from: '/org', to: 'org', values: { Contoso: 'contoso' } },
  { from: '/access/teams', to: 'team' },
  { from: '/role', to: 'role', values: { author: 'writer' } },
  { to: 'partner', value: 'yes' },
];
const service = aService({
  mode: 'full',
  providers: (declared) => [
    provider(declared.issuer, 'corporate'),
    provider(partners, 'partner', {
      claims: MAPPED,
      introspectionUrl: partners.introspectionUrl,
      clientId: 'registry',
      clientSecretFile: declared.write('secret', 'the secret of the registry'),
    }),
  ],
})
  .source('tools', { claims: { org: 'contoso' }, servers: [aServer('io.acme/a')] })
  .source('made', { kind: 'managed' })
  .registry('theirs', { sources: ['tools', 'made'], claims: { partner: 'yes' } })
  .registry('ours', { sources: ['tools'], claims: { org: 'acme' } })
  .runs();
const ways = [
  ['a JWT', (claims: Document) => partners.sign(claims)],
  ['an opaque token', (claims: Document) => partners.opaque(claims)],
] as const;
const rolesOf = async (token: string) =>
  ((await service.bearing(token).get('/v1/me')).json as { roles: string[] }).roles;

describe.each(ways)('a provider with mapped claims, %s', (_way, token) => {
  it('grants no role from an unmapped value', async () => {
    expect(await rolesOf(token({ role: 'super-admin' }))).toEqual([]);
    expect(await rolesOf(service.issuer.sign({ role: 'super-admin' }))).toEqual(['superAdmin']);
    const reply = await service.bearing(token({ role: 'super-admin' })).get('/v1/sources');
    expectRefused(reply, 403, 'role_required');
    expect((await service.as({ role: 'super-admin' }).get('/v1/sources')).status).toBe(200);
  });

  it('passes no gate with an unmapped claim', async () => {
    const path = '/registry/ours/v0.1/servers';
    expectRefused(await service.bearing(token({ org: 'acme' })).get(path), 403, 'registry_forbidden');
    expect((await service.as({ org: 'acme' }).get(path)).status).toBe(200);
  });

  it('yields mapped, translated and constant claims', async () => {
    const path = '/registry/theirs/v0.1/servers';
    expect(versionsIn(await service.bearing(token({ org: 'Contoso' })).get(path))).toEqual([
      'io.acme/a@1.0.0',
    ]);
    expect(versionsIn(await service.bearing(token({ org: 'contoso' })).get(path))).toEqual([]);
    expectRefused(await service.as({ org: 'contoso' }).get(path), 403, 'registry_forbidden');
  });

  it('shows subject, roles and mapped claims in GET /v1/me?claims=true', async () => {
    const sent = token({
      sub: 'paul',
      org: 'Contoso',
      role: ['author', 'boss'],
      access: { teams: ['a', 7] },
    });
    expect((await service.bearing(sent).get('/v1/me?claims=true')).json).toEqual({
      subject: 'paul',
      roles: ['manageEntries'],
      claims: {
        iss: partners.iss,
        sub: 'paul',
        org: 'contoso',
        role: 'writer',
        team: ['a', '7'],
        partner: 'yes',
      },
    });
  });

  it('allows publishing with mapped claims, and not with raw ones', async () => {
    const author = service.bearing(
      token({ org: 'Contoso', role: 'author', access: { teams: 'a' }, tier: 'gold' }),
    );
    const publish = (name: string, claims: Document) =>
      author.post('/v1/entries', { server: aServer(`${name}-${_way.length}`), claims });
    expect((await publish('com.contoso/mine', { org: 'contoso', team: 'a' })).status).toBe(201);
    for (const claims of [
      { org: 'Contoso' },
      { org: 'acme' },
      { role: 'author' },
      { tier: 'gold' },
      { team: 'b' },
    ])
      expectRefused(await publish('com.contoso/theirs', claims), 400, 'claims_not_subset');
  });
});

describe('GET /v1/me', () => {
  it.each(['', '?claims=', '?claims=false', '?other=true'])(
    'returns no claims for the query %j',
    async (query) => {
      const { json } = await service.as({ sub: 'ada' }).get(`/v1/me${query}`);
      expect(json).toEqual({ subject: 'ada', roles: [] });
    },
  );

  it('returns every claim of a token whose provider maps none', async () => {
    const claims = service.issuer.claims({ sub: 'ada', org: 'acme', nested: { a: [1] } });
    const { json } = await service.bearing(service.issuer.sign(claims)).get('/v1/me?claims=true');
    expect(json).toEqual({ subject: 'ada', roles: [], claims });
  });

  it.each(['?claims=yes', '?claims=true&claims=true'])('returns 400 for the query %j', async (query) => {
    expectRefused(await service.as({ sub: 'ada' }).get(`/v1/me${query}`), 400, 'invalid_parameter');
  });
});

describe('a mapped claim with more than 1,000 values', () => {
  const teams = (count: number) =>
    partners.opaque({ access: { teams: Array.from({ length: count }, (_, n) => `t${n}`) } });

  it('is refused with claims_incomplete', async () => {
    const path = '/registry/theirs/v0.1/servers';
    expect((await service.bearing(teams(1_000)).get(path)).status).toBe(200);
    const reply = await service.bearing(teams(1_001)).get(path);
    expectChallenge(reply, { error: 'invalid_token', code: 'claims_incomplete' });
    const refused = service.logs().findLast(({ msg }) => msg === 'Token refused');
    expect(JSON.stringify(refused)).toContain('team would have more than 1000 values');
  });
});
