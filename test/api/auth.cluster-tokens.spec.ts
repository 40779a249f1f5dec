import { randomUUID } from 'node:crypto';
import { readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { aServer, type Document } from '../support/documents.js';
import { anIssuer } from '../support/issuer.js';
import { expectChallenge, expectRefused, versionsIn } from '../support/matchers.js';
import { aService, type ServiceUnderTest } from '../support/service.js';
import { within } from '../support/within.js';

const EXAMPLE = join(import.meta.dirname, '../../examples/cluster.yaml');
const { auth, sources } = parse(readFileSync(EXAMPLE, 'utf8')) as {
  auth: { oauth: { providers: Document[] }; authz: { roles: Record<string, Document[]> } };
  sources: { claims: Document }[];
};
const [provider = {}] = auth.oauth.providers;
const WORKLOAD = { sub: 'system:serviceaccount:tools:portal' };

describe('Kubernetes service account tokens', () => {
  // Token the API server requires for its keys; the kubelet rotates the mounted file.
  let mounted = `mounted-${randomUUID()}`;
  const cluster = anIssuer({
    tls: true,
    iss: String(provider['issuerUrl']),
    audience: String(provider['audience']),
    bearer: () => mounted,
  }).runs();
  // The provider of examples/cluster.yaml with the addresses and files of this test.
  const asInTheExample = (service: ServiceUnderTest, changed: Document = {}): Document[] => [
    {
      ...provider,
      jwksUrl: cluster.jwksUrl,
      caCertPath: service.write('ca.crt', cluster.ca),
      authTokenFile: service.write('token', mounted),
      ...changed,
    },
  ];
  const service = aService({ mode: 'auth-only', providers: asInTheExample })
    .source('main', { servers: [aServer('io.acme/a')] })
    .registry('main', { sources: ['main'] })
    .runs();
  const me = (claims: Document) => service.bearing(cluster.sign({ ...WORKLOAD, ...claims })).get('/v1/me');
  const lastReason = () => JSON.stringify(service.logs().findLast(({ msg }) => msg === 'Token refused'));

  it('are accepted with the audience of this registry', async () => {
    expect((await me({})).json).toMatchObject({ subject: WORKLOAD.sub });
  });

  it("are refused with the audience of the cluster's API", async () => {
    expectChallenge(await me({ aud: [cluster.iss] }), { error: 'invalid_token' });
    expect(lastReason()).toContain('the audience does not match');
  });

  it('are verified with keys fetched by the mounted token, without discovery', async () => {
    await me({});
    expect(cluster.requestsTo('jwks').at(-1)?.authorization).toBe(`Bearer ${mounted}`);
    expect(cluster.requestsTo('discovery')).toEqual([]);
  });

  it('are verified with keys fetched by the rotated token', async () => {
    mounted = `rotated-${randomUUID()}`;
    service.write('token', mounted);
    cluster.rotate();
    expect((await me({})).status).toBe(200);
    expect(cluster.requestsTo('jwks').at(-1)?.authorization).toBe(`Bearer ${mounted}`);
  });

  it.each<[string, (service: ServiceUnderTest) => Document, string]>([
    [
      'the mounted token is no longer valid',
      (here) => ({ authTokenFile: here.write('old', 'outdated') }),
      'it responded with status 401',
    ],
    [
      'the certificate of the cluster is unknown',
      () => ({ caCertPath: undefined }),
      'unable to verify the first certificate',
    ],
    [
      'private addresses are not allowed',
      () => ({ allowPrivateIP: false }),
      'is at a private address, which is not allowed here',
    ],
  ])('get 503 provider_unavailable and a log line when %s', async (_, changed, reason) => {
    await service.reload((here) =>
      here.auth({ providers: (starting) => asInTheExample(starting, changed(starting)) }),
    );
    expectRefused(await me({}), 503, 'provider_unavailable');
    expect(lastReason()).toContain(reason);
  });

  it('get 503 while the token file is missing, and are accepted once it exists', async () => {
    const file = service.write('short-lived', mounted);
    rmSync(file);
    await service.reload((here) =>
      here.auth({ providers: (starting) => asInTheExample(starting, { authTokenFile: file }) }),
    );
    expectRefused(await me({}), 503, 'provider_unavailable');
    expect(lastReason()).toContain(`the token file ${file} can't be read`);
    service.write('short-lived', mounted);
    await within(40_000, async () => expect((await me({})).status).toBe(200));
  });
});

describe('the roles of examples/cluster.yaml', () => {
  const cluster = anIssuer({
    tls: true,
    iss: String(provider['issuerUrl']),
    audience: String(provider['audience']),
  }).runs();
  const { roles } = auth.authz;
  const service = aService({
    mode: 'full',
    roles,
    providers: (here) => [
      {
        ...provider,
        jwksUrl: cluster.jwksUrl,
        caCertPath: here.write('ca.crt', cluster.ca),
        authTokenFile: here.write('token', 'mounted'),
      },
    ],
  })
    .source('catalog', { servers: [aServer('io.acme/a')], claims: sources[0]?.claims })
    .registry('default', { sources: ['catalog'] })
    .runs();
  const someone = () =>
    service.bearing(cluster.sign({ sub: `system:serviceaccount:${randomUUID()}:default` }));
  const named = (role: string) => service.bearing(cluster.sign({ sub: roles[role]?.[0]?.['sub'] }));

  it('allow every workload to read', async () => {
    expect(versionsIn(await someone().get('/registry/default/v0.1/servers'))).toEqual(['io.acme/a@1.0.0']);
    expect((await someone().get('/v1/me')).json).toMatchObject({ roles: [] });
  });

  it('allow only the listed accounts to make changes', async () => {
    expectRefused(await someone().post('/v1/sources/catalog/sync'), 403, 'role_required');
    expectRefused(await someone().put('/v1/registries/made', { sources: ['catalog'] }), 403, 'role_required');
    expectRefused(await someone().post('/v1/entries', {}), 403, 'role_required');
    expect((await named('manageSources').post('/v1/sources/catalog/sync')).status).toBe(202);
    expect((await named('superAdmin').put('/v1/registries/made', { sources: ['catalog'] })).status).toBe(201);
  });
});
