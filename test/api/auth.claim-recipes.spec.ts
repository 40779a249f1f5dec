import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { aServer, type Document } from '../support/documents.js';
import { anIssuer } from '../support/issuer.js';
import keycloak from '../support/keycloak.json' with { type: 'json' };
import { expectChallenge, expectRefused, versionsIn } from '../support/matchers.js';
import { aService } from '../support/service.js';

const GUIDE = readFileSync(join(import.meta.dirname, '../../docs/providers.md'), 'utf8');

interface Recipe extends Document {
  name: string;
  issuerUrl: string;
  audience: string;
  claims: Document[];
}

/** The recipes of the guide by heading. */
const RECIPES = new Map(
  [...GUIDE.matchAll(/^### (.+)$[^]*?```yaml\n(- name: [^]*?)```/gm)].map(([, heading = '', yaml = '']) => [
    heading,
    (parse(yaml) as [Recipe])[0],
  ]),
);

interface Example {
  /** Raw claims of a publisher of the platform team. */
  token: Document;
  /** Changes that must make the caller lose the mapped claims in `lost`. */
  other: Document;
  lost: string[];
  /** Raw claims of a build job, which has the role but no team. */
  job?: Document;
}

const UUID = '9bf3afbc-77b0-4bd1-a4bb-d4ba1a1f7a3c';
const GITHUB = {
  sub: 'repo:acme/weather:environment:release',
  repository: 'acme/weather',
  repository_id: '710512644',
  repository_owner: 'acme',
  repository_owner_id: '583231',
  environment: 'release',
  ref: 'refs/tags/v1.0.0',
  ref_type: 'tag',
  actor_id: '12',
  run_attempt: '1',
};
const GITLAB = {
  sub: 'project_path:acme/weather:ref_type:tag:ref:v1.0.0',
  namespace_id: '12885807',
  namespace_path: 'acme',
  project_id: '53804090',
  project_path: 'acme/weather',
  pipeline_source: 'push',
  ref: 'v1.0.0',
  ref_type: 'tag',
  ref_protected: 'true',
};
const CLUSTER = {
  sub: 'system:serviceaccount:platform-prod:publisher',
  'kubernetes.io': {
    namespace: 'platform-prod',
    node: { name: 'node-1', uid: 'f3a4' },
    pod: { name: 'publisher-7f9', uid: 'a1b2' },
    serviceaccount: { name: 'publisher', uid: 'c3d4' },
    warnafter: 1_800_000_000,
  },
};

const EXAMPLES: Record<string, Example> = {
  Keycloak: {
    token: { ...keycloak.tokens.member, resource_access: keycloak.tokens.pipeline.resource_access },
    other: { resource_access: { wiki: { roles: ['writer'] } }, groups: ['/everybody', '/teams/data/leads'] },
    lost: ['role', 'team'],
    job: keycloak.tokens.pipeline,
  },
  'Entra ID': {
    token: {
      ver: '2.0',
      oid: '690222be-ff1a-4d56-abd1-7e4f7d38e474',
      tid: '8b87af7d-8647-4dc7-8df4-5f69a2011bb5',
      azp: '2c1a',
      roles: ['Registry.Writer'],
      groups: [UUID, '1d3d5a43-1111-4bd1-a4bb-d4ba1a1f7a3c'],
      scp: 'Registry.Read',
    },
    other: { tid: '9188040d-6c67-4c5b-b112-36a304b66dad', groups: [] },
    lost: ['org', 'team'],
    job: {
      ver: '2.0',
      tid: '8b87af7d-8647-4dc7-8df4-5f69a2011bb5',
      idtyp: 'app',
      roles: ['Registry.Writer'],
    },
  },
  Okta: {
    token: {
      ver: 1,
      cid: '0oa1',
      uid: '00u1',
      scp: ['openid'],
      groups: ['Everyone', 'registry-writers', 'platform'],
    },
    other: { groups: ['Everyone', 'platform'] },
    lost: ['role'],
    job: { ver: 1, cid: '0oaci1registry', sub: '0oaci1registry', scp: ['registry'] },
  },
  Auth0: {
    token: {
      azp: 'ide',
      gty: 'authorization_code',
      permissions: ['read:all'],
      org_id: 'org_9ybsU1dN2dKfDkBi',
      'https://acme.example/roles': ['writer', 'super-admin'],
      'https://acme.example/teams': ['platform'],
    },
    other: { org_id: 'org_other', 'https://acme.example/roles': undefined },
    lost: ['org', 'role'],
    job: { azp: 'k3Yc1registryCI', sub: 'k3Yc1registryCI@clients', gty: 'client-credentials' },
  },
  Google: {
    token: {
      sub: '110169484474386276334',
      azp: '110169484474386276334',
      email: 'registry-ci@acme-build.iam.gserviceaccount.com',
      email_verified: true,
    },
    other: { sub: '108204268033311374519' },
    lost: ['org', 'role', 'team'],
  },
  Dex: {
    token: {
      sub: 'Cgh1c2VyLTEyMxIEbGRhcA',
      at_hash: 'yWUFd2fJ1mN3',
      name: 'Ann',
      groups: ['acme:registry-writers', 'acme:team-platform', 'acme:everybody'],
    },
    other: { groups: ['other:registry-writers', 'other:team-platform'] },
    lost: ['role', 'team'],
    job: { at_hash: 'yWUFd2fJ1mN3', groups: ['acme:registry-writers'] },
  },
  'GitHub Actions': {
    token: GITHUB,
    other: { repository_owner_id: '99', environment: 'pull-request' },
    lost: ['org', 'role'],
  },
  'GitLab CI': { token: GITLAB, other: { ref_protected: 'false' }, lost: ['role'] },
  'Kubernetes service accounts': {
    token: CLUSTER,
    other: { 'kubernetes.io': { namespace: 'elsewhere' }, sub: 'system:serviceaccount:elsewhere:publisher' },
    lost: ['role', 'team'],
  },
};

const AFTER = { org: 'acme', team: 'platform', role: 'writer' };
/** Audience of the same providers without `claims`. */
const BEFORE = 'before';

describe('the claim recipes in docs/providers.md', () => {
  const service = aService({
    mode: 'full',
    providers: ({ issuer: { jwksUrl, groupsUrl } }) =>
      [...RECIPES.values()].flatMap(({ claims, groups, ...recipe }) => {
        const provider = { ...recipe, jwksUrl, allowPrivateIP: true };
        const unmapped = { ...provider, name: `${recipe.name}-before`, audience: BEFORE };
        // The test issuer serves the groups instead of Microsoft Graph.
        const elsewhere = groups === undefined ? {} : { groups: { url: groupsUrl } };
        return [{ ...provider, claims, ...elsewhere }, unmapped];
      }),
  })
    .source('tools', { claims: { org: 'acme', team: 'platform' }, servers: [aServer('io.acme/deploy')] })
    .source('made', { kind: 'managed' })
    .registry('acme', { sources: ['tools'], claims: { org: 'acme' } })
    .runs();
  const as = (heading: string, token: Document, audience?: string) => {
    const { issuerUrl: iss = '', audience: aud } = RECIPES.get(heading) ?? {};
    return service.bearing(service.issuer.sign({ ...token, iss, aud: [audience ?? aud, `${iss}/userinfo`] }));
  };
  const held = async (heading: string, token: Document) => {
    const { json } = await as(heading, token).get('/v1/me?claims=true');
    const { iss, sub, ...claims } = (json as { claims: Document }).claims;
    expect([iss, typeof sub]).toEqual([RECIPES.get(heading)?.issuerUrl, 'string']);
    return claims;
  };

  it('are all tested here', () => {
    expect([...RECIPES.keys()]).toEqual(Object.keys(EXAMPLES));
  });

  describe.each(Object.entries(EXAMPLES))('%s', (heading, { token, other, lost }) => {
    it('grants no role and passes no gate without the mapping', async () => {
      const before = as(heading, token, BEFORE);
      expect((await before.get('/v1/me')).json).toMatchObject({ roles: [] });
      expectRefused(await before.get('/registry/acme/v0.1/servers'), 403, 'registry_forbidden');
      expectRefused(await before.post('/v1/entries', {}), 403, 'role_required');
    });

    it('maps a publisher of the team to exactly the expected claims', async () => {
      expect(await held(heading, token)).toEqual(AFTER);
      const after = as(heading, token);
      expect((await after.get('/v1/me')).json).toMatchObject({ roles: ['manageEntries'] });
      expect(versionsIn(await after.get('/registry/acme/v0.1/servers'))).toEqual(['io.acme/deploy@1.0.0']);
      const name = `com.acme/${heading.toLowerCase().replaceAll(' ', '-')}`;
      const published = await after.post('/v1/entries', { server: aServer(name), claims: { org: 'acme' } });
      expect(published.status).toBe(201);
    });

    it('distinguishes a caller from another team, role or organization', async () => {
      const kept = Object.entries(AFTER).filter(([key]) => !lost.includes(key));
      expect(await held(heading, { ...token, ...other })).toEqual(Object.fromEntries(kept));
    });
  });

  it.each(Object.entries(EXAMPLES).flatMap(([heading, { job }]) => (job ? [{ heading, job }] : [])))(
    'map a build job of $heading to the role without a team',
    async ({ heading, job }) => {
      expect(await held(heading, job)).toEqual({ org: 'acme', role: 'writer' });
    },
  );

  it('fetch the groups of an Entra ID token with a group overage, or refuse it', async () => {
    const token = { ...EXAMPLES['Entra ID']?.token, ...OVERAGE };
    const { issuerUrl: iss, audience: aud } = RECIPES.get('Entra ID') ?? {};
    const sent = service.issuer.sign({ ...token, groups: undefined, iss, aud });
    expectChallenge(await service.bearing(sent).get('/v1/me'), {
      error: 'invalid_token',
      code: 'claims_incomplete',
    });
    const other = service.issuer.sign({ ...token, groups: undefined, iss, aud, sub: 'ada' });
    service.issuer.setUserinfo(other, { groups: [UUID, 'of-nobody'] });
    const { json } = await service.bearing(other).get('/v1/me?claims=true');
    expect(json).toMatchObject({ roles: ['manageEntries'], claims: AFTER });
    expect(service.issuer.requestsTo('other')).toEqual([]);
  });
});

const OVERAGE = {
  _claim_names: { groups: 'src1' },
  _claim_sources: { src1: { endpoint: 'http://127.0.0.1:1/users/690222be/getMemberObjects' } },
};

// Recorded with a realm that the recipe sets up; issuer, keys and times are new.
describe(`the Keycloak recipe with the responses of Keycloak ${keycloak.version}`, () => {
  const realm = anIssuer({ discovery: keycloak.discovery }).runs();
  const service = aService({
    mode: 'full',
    providers: () => [
      {
        ...RECIPES.get('Keycloak'),
        issuerUrl: realm.iss,
        introspectionUrl: `${realm.url}/protocol/openid-connect/token/introspect`,
        clientId: 'registry',
        allowPrivateIP: true,
      },
    ],
  }).runs();
  const { member, administrator, pipeline, identity, lightweight } = keycloak.tokens;
  const renewed = (recorded: Document) => ({ aud: undefined, sub: undefined, ...recorded, iss: realm.iss });
  const withToken = (recorded: Document) => service.bearing(realm.sign(renewed(recorded)));

  it.each([
    ['a member of a nested team', member, { team: 'platform' }, []],
    ['an administrator', administrator, { role: 'admin' }, ['manageSources', 'manageRegistries']],
    ['a build job', pipeline, { role: 'writer' }, ['manageEntries']],
  ])('accepts %s', async (_, recorded, claims, roles) => {
    const { iss, sub, ...mapped } = claimsIn(await withToken(recorded).get('/v1/me?claims=true'));
    expect({ iss, sub, mapped }).toEqual({
      iss: realm.iss,
      sub: recorded.sub,
      mapped: { org: 'acme', ...claims },
    });
    expect((await withToken(recorded).get('/v1/me')).json).toMatchObject({ roles });
  });

  it('accepts a lightweight token, whose claims are in the introspection response', async () => {
    const token = realm.sign(renewed(lightweight));
    realm.knows(token, renewed(keycloak.introspection.lightweight));
    const claims = claimsIn(await service.bearing(token).get('/v1/me?claims=true'));
    expect(claims).toEqual({ iss: realm.iss, sub: member.sub, org: 'acme', team: 'platform' });
  });

  it.each([
    ['an ID token', identity],
    ['a token without the audience mapper', { ...member, aud: 'account' }],
  ])('refuses %s', async (_, recorded) => {
    expectRefused(await withToken(recorded).get('/v1/me'), 401, 'token_invalid');
  });
});

const claimsIn = ({ json }: { json: unknown }) => (json as { claims: Document }).claims;
