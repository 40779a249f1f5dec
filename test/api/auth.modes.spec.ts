import { describe, expect, it } from 'vitest';
import { NOBODY } from '../support/callers.js';
import { aServer } from '../support/documents.js';
import { freePort } from '../support/free-port.js';
import { call } from '../support/http.js';
import { anIssuer } from '../support/issuer.js';
import { expectChallenge, expectRefused, versionsIn } from '../support/matchers.js';
import { aService } from '../support/service.js';

const WARNING = 'Authorization not configured, per-entry claims filtering disabled (auth-only mode)';

describe('auth-only mode:', () => {
  const service = aService({ mode: 'auth-only' })
    .source('main', { servers: [aServer('io.acme/a')], claims: { org: 'acme' } })
    .registry('main', { sources: ['main'], claims: { org: 'acme' } })
    .runs();

  it('every caller has every role', async () => {
    const { status, json } = await service.as({ sub: 'ada' }).get('/v1/me');
    expect({ status, json }).toEqual({
      status: 200,
      json: {
        subject: 'ada',
        roles: ['superAdmin', 'manageSources', 'manageRegistries', 'manageEntries'],
      },
    });
    expect((await service.as(NOBODY).get('/v1/sources')).status).toBe(200);
    expectChallenge(await service.get('/v1/sources'));
  });

  it('any valid token sees every entry', async () => {
    const reply = await service.as(NOBODY).get('/registry/main/v0.1/servers');
    expect(versionsIn(reply)).toEqual(['io.acme/a@1.0.0']);
    expectChallenge(await service.get('/registry/main/v0.1/servers'));
  });

  it('concurrent requests keep their own caller', async () => {
    const subjects = ['ada', 'wim', 'pia'];
    const replies = await Promise.all(
      Array.from({ length: 30 }, (_, n) => service.as({ sub: subjects[n % 3] }).get('/v1/me')),
    );
    expect(replies.map(({ json }) => (json as { subject: string }).subject)).toEqual(
      Array.from({ length: 30 }, (_, n) => subjects[n % 3]),
    );
  });

  it('logs one warning at startup', () => {
    const warnings = service.logs().filter(({ msg }) => msg === WARNING);
    expect(warnings.map(({ level }) => level)).toEqual(['warn']);
  });
});

describe('a provider that is down when the service starts', () => {
  const late = anIssuer();
  const healthy = anIssuer().runs();
  let port = 0;
  const service = aService({
    mode: 'auth-only',
    providers: () => [
      { name: 'late', issuerUrl: `http://127.0.0.1:${port}`, audience: 'registry', allowPrivateIP: true },
      { name: 'healthy', issuerUrl: healthy.iss, audience: 'registry', allowPrivateIP: true },
    ],
  }).runs();

  it('blocks neither the start nor other providers, and is used once it responds', async () => {
    port = await freePort();
    await late.start(port);
    const token = late.sign();
    await late.stop();
    await service.restart();
    await expect.poll(async () => (await call(`${service.internalOrigin}/readiness`)).status).toBe(200);
    expectRefused(await service.bearing(token).get('/v1/me'), 503, 'provider_unavailable');
    expect((await service.bearing(healthy.sign()).get('/v1/me')).status).toBe(200);
    expectChallenge(await service.get('/v1/me'));

    await late.start(port);
    await expect.poll(async () => (await service.bearing(token).get('/v1/me')).status).toBe(200);
    await late.stop();
  });
});
