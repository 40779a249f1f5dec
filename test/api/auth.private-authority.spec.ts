import { rmSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { Clock } from '../support/clock.js';
import { anIssuer, type Issuer } from '../support/issuer.js';
import { expectChallenge, expectRefused } from '../support/matchers.js';
import { keepSecret } from '../support/secrets.js';
import { aService, type ServiceUnderTest } from '../support/service.js';

const KEY_LIFETIME = 600_000;
const CLUSTER = 'https://kubernetes.default.svc.cluster.local';
const FIRST = keepSecret('the first token of the workload'.replaceAll(' ', '-'));
const SECOND = keepSecret('the second token of the workload'.replaceAll(' ', '-'));

const clock = new Clock().runs();
let wanted = FIRST;
/** A cluster API server: private CA, and keys only for bearers of a token. */
const cluster = anIssuer({ tls: true, iss: CLUSTER, bearer: () => wanted }).runs();
const stranger = anIssuer({ tls: true }).runs();

const aServiceInTheCluster = (ca: Issuer | null) =>
  aService({
    mode: 'auth-only',
    providers: (service) => [
      {
        name: 'cluster',
        issuerUrl: CLUSTER,
        jwksUrl: cluster.jwksUrl,
        audience: 'registry',
        ...(ca ? { caCertPath: service.write('ca.crt', ca.ca) } : {}),
        authTokenFile: service.write('token', `${FIRST}\n`),
        allowPrivateIP: true,
      },
    ],
  }).runs();

/** A projected service account token (reference/authentication). */
const workloadToken = (changes: Record<string, unknown> = {}) =>
  cluster.sign({
    aud: ['registry'],
    sub: 'system:serviceaccount:agents:crawler',
    'kubernetes.io': {
      namespace: 'agents',
      pod: { name: 'crawler-5d9c7', uid: '7c1f0c2e-0f0a-4f8e-9f0e-0a3f6d0c8b11' },
      serviceaccount: { name: 'crawler', uid: '2f1d1f3c-6b7a-4d57-8d5e-6a0b7f3f9d20' },
    },
    ...changes,
  });

describe('a service account token of a cluster with a private CA', () => {
  const service = aServiceInTheCluster(cluster);
  const ask = (token: string) => service.bearing(token).get('/v1/me');

  it('is accepted with the audience of the registry only', async () => {
    const { status, json } = await ask(workloadToken());
    expect({ status, json }).toMatchObject({
      status: 200,
      json: { subject: 'system:serviceaccount:agents:crawler' },
    });
    const forTheCluster = workloadToken({ aud: [CLUSTER] });
    expectChallenge(await ask(forTheCluster), { error: 'invalid_token' });
  });

  it('is verified without discovery; authTokenFile is read at each fetch of the keys', async () => {
    wanted = FIRST;
    service.write('token', `${FIRST}\n`);
    clock.passes(KEY_LIFETIME);
    expect((await ask(workloadToken())).status).toBe(200);

    wanted = SECOND;
    service.write('token', SECOND);
    clock.passes(KEY_LIFETIME);
    expect((await ask(workloadToken())).status).toBe(200);

    const lastTwo = cluster.requests.slice(-2);
    expect(lastTwo.map(({ endpoint, authorization }) => [endpoint, authorization])).toEqual([
      ['jwks', `Bearer ${FIRST}`],
      ['jwks', `Bearer ${SECOND}`],
    ]);
    expect(cluster.requestsTo('discovery')).toEqual([]);
  });

  it.each<[what: string, change: (service: ServiceUnderTest) => void]>([
    ['is outdated', (service) => service.write('token', SECOND)],
    ['is missing', (service) => rmSync(service.write('token', FIRST))],
    ['is empty', (service) => service.write('token', '\n')],
    ['has two lines', (service) => service.write('token', `${FIRST}\n${FIRST}\n`)],
    ['is malformed', (service) => service.write('token', 'a token\r\nX-Injected: yes')],
  ])('gets 503 while the token in authTokenFile %s', async (_what, change) => {
    wanted = FIRST;
    change(service);
    clock.passes(KEY_LIFETIME);
    expectRefused(await ask(workloadToken()), 503, 'provider_unavailable');

    service.write('token', FIRST);
    clock.passes(60_000);
    expect((await ask(workloadToken())).status).toBe(200);
  });
});

describe.each([
  ['without', null],
  ['with another CA than', stranger],
])('a provider %s the CA of the cluster', (_what, authority) => {
  const service = aServiceInTheCluster(authority);

  it('returns 503 and never sends the token', async () => {
    const asked = cluster.requests.length;
    expectRefused(await service.bearing(workloadToken()).get('/v1/me'), 503, 'provider_unavailable');
    expect(cluster.requests.length).toBe(asked);
  });
});
