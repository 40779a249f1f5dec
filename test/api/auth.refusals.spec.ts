import { describe, expect, it } from 'vitest';
import { eventsOf } from '../support/audit.js';
import { SUPER_ADMIN } from '../support/callers.js';
import { anIssuer } from '../support/issuer.js';
import { expectRefused } from '../support/matchers.js';
import { sendRaw } from '../support/raw.js';
import { type LogLine, aService } from '../support/service.js';

const partner = anIssuer().runs();
const service = aService({
  mode: 'full',
  publicPaths: ['/v1/registries'],
  blocked: [
    { subject: 'mallory' },
    { subject: 'ci' },
    { issuer: 'https://elsewhere.example', subject: 'pia' },
  ],
  providers: ({ issuer }) => [
    { name: 'corporate', issuerUrl: issuer.iss, audience: 'registry', allowPrivateIP: true },
    {
      name: 'partner',
      issuerUrl: partner.iss,
      audience: 'registry',
      introspectionUrl: partner.introspectionUrl,
      allowPrivateIP: true,
    },
  ],
})
  .source('published', { kind: 'managed' })
  .registry('open', {
    sources: ['published'],
    claims: { org: 'acme' },
    publishClaims: { org: 'acme' },
    anonymous: { claims: { org: 'acme' } },
  })
  .runs();
const { issuer } = service;
const sigrid = () => service.as(SUPER_ADMIN);
const refusedWith = async (token: string) => service.bearing(token).get('/v1/me');
const lineOf = (id: unknown, message: string) =>
  service.logs().find(({ requestId, msg }) => requestId === id && msg === message) as LogLine;

describe('a refused token', () => {
  it('is explained in the log and to super-admins', async () => {
    const reply = await refusedWith(issuer.sign({ aud: ['account', 'a\u202e'], azp: 'web' }));
    expectRefused(reply, 401, 'token_invalid');
    const attempts = [
      {
        provider: 'corporate',
        check: 'audience',
        expected: 'registry',
        received: '["account","a\\u{202e}"]',
      },
      { provider: 'partner', check: 'issuer', expected: partner.iss, received: issuer.iss },
      { provider: 'partner', check: 'issuer', expected: partner.iss, received: issuer.iss },
    ];
    const claimed = { issuer: issuer.iss, client: 'web' };
    expect(await eventsOf(sigrid(), reply)).toMatchObject([
      { action: 'auth.refused', code: 'token_invalid', step: 'token', attempts, claimed },
    ]);
    const line = lineOf(reply.headers['x-request-id'], 'Token refused');
    expect(line).toMatchObject({ ...claimed, attempts });
    expect(JSON.stringify(line)).toContain('audience mapper');
  });

  it('that lacks its audience gets the hint about lightweight tokens', async () => {
    const reply = await refusedWith(issuer.sign({ aud: undefined, sub: undefined }));
    const line = lineOf(reply.headers['x-request-id'], 'Token refused');
    expect(JSON.stringify(line)).toContain('introspection: always');
    const twin = await refusedWith(issuer.sign({ aud: 'account' }));
    expect(JSON.stringify(lineOf(twin.headers['x-request-id'], 'Token refused'))).not.toContain(
      'introspection:',
    );
  });

  it.each<[check: string, token: () => string]>([
    ['format', () => 'opaque-to-all'],
    ['expiry', () => issuer.sign({ exp: 1 })],
    ['not_before', () => issuer.sign({ nbf: 9e9 })],
    ['type', () => issuer.sign({}, { typ: 'logout+jwt' })],
    ['type', () => issuer.sign({ typ: 'ID' })],
    [
      'signature',
      () =>
        issuer.raw({
          header: { alg: 'ES256', kid: issuer.currentKid },
          payload: issuer.claims(),
          key: partner.key(partner.currentKid).privateKey,
        }),
    ],
    ['key', () => issuer.sign({}, { kid: 'gone' })],
    ['algorithm', () => issuer.raw({ header: { alg: 'none' }, payload: issuer.claims() })],
    ['active', () => partner.sign({ aud: undefined })],
    ['subject', () => issuer.sign({ sub: undefined })],
  ])('shows the check %s', async (check, token) => {
    const [event] = await eventsOf(sigrid(), await refusedWith(token()));
    expect((event as { attempts?: { check: string }[] }).attempts?.map((one) => one.check)).toContain(check);
  });

  it('leaves no hint to ask for an explanation, which needs a token', async () => {
    for (const reply of [
      await refusedWith('x'),
      await service.get('/v1/me'),
      await refusedWith(issuer.sign({ exp: 1 })),
    ]) {
      expect(reply.status).toBe(401);
      expect(reply.text).not.toContain('explain');
    }
    expect((await service.as({ sub: 'x' }).get('/v1/sources')).text).toContain('/v1/access/explain');
  });

  it('is shown to super-admins only', async () => {
    const exchange = { oidc_token: issuer.sign({ aud: 'account' }) };
    const reply = await service.post('/registry/open/v0.1/auth/github-oidc', exchange);
    expectRefused(reply, 401, 'token_invalid');
    expect(await eventsOf(sigrid(), reply)).toMatchObject([
      { attempts: [{ check: 'audience' }, { check: 'issuer' }, { check: 'issuer' }], claimed: {} },
    ]);
    const manager = await service.as({ org: 'acme', role: 'admin' }).get('/v1/audit');
    expect(manager.status).toBe(200);
    expect(manager.text).not.toMatch(/attempts|claimed/);
  });
});

describe('a blocked caller', () => {
  const PATHS = [
    '/v1/me',
    '/v1/registries',
    '/registry/open/v0.1/servers',
    '/registry/open/v0.1/x/client-config?client=vscode&form=servers',
    '/registry/open/v0.1/x/search?q=a',
  ];

  it.each<[blocked: () => string, allowed: () => string]>([
    [
      () => issuer.sign({ sub: 'mallory', role: 'admin' }),
      () => issuer.sign({ sub: 'mallory2', role: 'admin' }),
    ],
    [
      () => partner.opaque({ sub: 'mallory', iss: undefined }),
      () => partner.opaque({ sub: 'pia', iss: undefined }),
    ],
    [
      () => issuer.sign({ sub: undefined, client_id: 'ci' }),
      () => issuer.sign({ sub: 'ann', client_id: 'ci' }),
    ],
    [
      () => issuer.sign({ sub: 'mallory', org: 'acme' }),
      () => issuer.sign({ sub: 'pia', org: 'acme', role: 'admin' }),
    ],
  ])('is refused everywhere, even with a cached token', async (blocked, allowed) => {
    const [bad, good] = [blocked(), allowed()];
    for (const path of [...PATHS, ...PATHS.slice(0, 1)]) {
      const reply = await service.bearing(bad).get(path);
      expectRefused(reply, 401, 'caller_blocked');
      expect(reply.headers['www-authenticate']).toContain('error="invalid_token"');
      expect((await service.bearing(good).get(path)).status).not.toBe(401);
    }
  });

  it('is refused by the MCP endpoint and by the exchange of CI tokens', async () => {
    const call = { jsonrpc: '2.0', id: 1, method: 'tools/list' };
    const accept = { Accept: 'application/json, text/event-stream' };
    const mcp = (token: string) => service.bearing(token).post('/registry/open/mcp', call, accept);
    expectRefused(await mcp(issuer.sign({ sub: 'mallory', org: 'acme' })), 401, 'caller_blocked');
    expect((await mcp(issuer.sign({ sub: 'ann', org: 'acme' }))).status).toBe(200);
    const exchange = (sub: string) =>
      service.post('/registry/open/v0.1/auth/github-oidc', { oidc_token: issuer.sign({ sub }) });
    expectRefused(await exchange('mallory'), 401, 'caller_blocked');
    expect((await exchange('ann')).status).toBe(200);
  });

  it('is shown in the log and the audit trail', async () => {
    for (const reply of [
      await refusedWith(issuer.sign({ sub: 'mallory' })),
      await service.post('/registry/open/v0.1/auth/github-oidc', {
        oidc_token: issuer.sign({ sub: 'mallory' }),
      }),
    ]) {
      expect(await eventsOf(sigrid(), reply, 'actor=mallory')).toMatchObject([
        {
          action: 'auth.refused',
          code: 'caller_blocked',
          step: 'token',
          actor: { subject: 'mallory', issuer: issuer.iss },
        },
      ]);
      const line = lineOf(reply.headers['x-request-id'], 'Blocked caller refused');
      expect(line).toMatchObject({ provider: 'corporate', subject: 'mallory' });
    }
  });
});

it('a 431 states the limit and is logged', async () => {
  const request = `GET /v1/me HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer ${'x'.repeat(17_000)}\r\n\r\n`;
  const answer = await sendRaw(service.port, request);
  expect(answer).toMatch(/^HTTP\/1\.1 431 /);
  expect(answer).toContain('16 KiB');
  const { requestId } = JSON.parse(answer.slice(answer.indexOf('{'))) as { requestId: string };
  const line = service.logs().find((one) => one['requestId'] === requestId);
  expect(line).toMatchObject({ level: 'warn', status: 431, code: 'headers_too_large', maxBytes: 16_384 });
});
