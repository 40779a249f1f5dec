import { describe, expect, it } from 'vitest';
import { ACME_ADMIN, ACME_WRITER, NOBODY, SUPER_ADMIN } from '../support/callers.js';
import { expectChallenge, expectRefused } from '../support/matchers.js';
import {
  aPublishingService,
  consumerAt,
  contentOf,
  type Mode,
  MODES,
  publish,
} from '../support/publishing.js';

const CLAIMS = { org: 'acme', team: 'platform' };
const VERSIONS = ['v0.1', 'v0'];
const REGISTRIES = ['main', 'closed', 'missing'];
const METHODS: readonly [method: string, names: string][] = [
  ['PUT', '/v1/entries/{type}/{name}/claims'],
  ['PATCH', '/v1/entries/{type}/{name}/versions/{version}/status'],
  ['DELETE', '/v1/entries/{type}/{name}/versions/{version}'],
];
const VERSION = '/servers/io.acme%2Fthere/versions/1.0.0';
const PATHS = [
  VERSION,
  '/servers',
  '/servers/io.acme%2Fthere',
  '/servers/io.acme%2Fthere/status',
  `${VERSION}/status`,
  '/servers/io.acme%2Fmissing/versions/1.0.0',
  '/x/dev.toolhive/skills/io.acme/there',
  '/x/dev.toolhive/skills/io.acme/there/versions/1.0.0',
];

const publishingIn = (mode: Mode) =>
  aPublishingService(mode)
    .registry('closed', { sources: ['published'], claims: { org: 'x' } })
    .runs();
const full = publishingIn('full');

describe.each(MODES)('in %s mode, a write to the consumer API without publishClaims', (mode) => {
  const service = mode === 'full' ? full : publishingIn(mode);

  it.each(METHODS)('by %s returns 501 use_admin_api with the admin route', async (method, route) => {
    const before = await contentOf(service);
    const paths = [
      ...(mode === 'full' ? PATHS.map((path) => `/registry/main/v0.1${path}`) : []),
      ...REGISTRIES.flatMap((one) => VERSIONS.map((version) => `/registry/${one}/${version}${VERSION}`)),
    ];
    for (const at of paths) {
      const sent = method === 'DELETE' ? {} : { body: { status: 'deleted' } };
      if (mode === 'anonymous') expectRefused(await service.send(method, at, sent), 501, 'use_admin_api');
      else expectChallenge(await service.send(method, at, sent));
      for (const caller of [NOBODY, ACME_WRITER]) {
        const reply = await service.as(caller).send(method, at, sent);
        expectRefused(reply, 501, 'use_admin_api');
        expect((reply.json as { error: string }).error).toContain(`${method} ${route}`);
      }
    }
    expect(await contentOf(service)).toEqual(before);
  });

  it.each(VERSIONS)('by POST to %s/publish returns 501 use_admin_api', async (version) => {
    const at = `/registry/main/${version}/publish`;
    if (mode !== 'anonymous') expectChallenge(await service.post(at, { server: {} }));
    for (const caller of [NOBODY, ACME_ADMIN, SUPER_ADMIN]) {
      const reply = await service.as(caller).post(at, { server: {} });
      expectRefused(reply, 501, 'use_admin_api');
      expect((reply.json as { error: string }).error).toContain('POST /v1/entries');
    }
  });
});

describe('an invalid token', () => {
  const service = full;

  it.each(METHODS)('gets 401 before the 501 of %s', async (method) => {
    await publish(service.as(ACME_WRITER), 'server', `io.acme/${method}`, CLAIMS);
    const at = consumerAt('server', `io.acme/${method}`, '/versions/1.0.0');
    const expired = service.issuer.sign({ ...ACME_WRITER, exp: 1 });
    for (const token of [expired, 'a.b.c'])
      expectChallenge(await service.bearing(token).send(method, at), { error: 'invalid_token' });
    expectRefused(await service.as(ACME_WRITER).send(method, at), 501, 'use_admin_api');
    expect((await service.as(ACME_WRITER).get(at)).status).toBe(200);
  });
});
