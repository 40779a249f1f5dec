import { gunzipSync, gzipSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import { serversIn } from '../support/answers.js';
import { aServer, type Document } from '../support/documents.js';
import type { Headers, Reply } from '../support/http.js';
import { anIssuer } from '../support/issuer.js';
import { expectChallenge, expectRefused } from '../support/matchers.js';
import { aName } from '../support/publishing.js';
import { aService } from '../support/service.js';

/** GitHub's OIDC issuer: the client requests a token whose audience is the registry's origin. */
const github = anIssuer({ audience: 'https://registry.example.com' }).runs();
const JOB = {
  sub: 'repo:acme/weather:ref:refs/tags/v1.0.0',
  repository: 'acme/weather',
  repository_owner: 'acme',
  repository_owner_id: '583231',
  ref: 'refs/tags/v1.0.0',
  workflow_ref: 'acme/weather/.github/workflows/publish.yml@refs/tags/v1.0.0',
};
const COLLEAGUE = { sub: 'cleo', org: 'acme' };
const CLAIMS = { org: 'acme' };
const PUBLISHER_PROVIDED = 'io.modelcontextprotocol.registry/publisher-provided';

const service = aService({
  mode: 'full',
  roles: { manageEntries: [{ org: ['acme', 'contoso'] }] },
  providers: ({ issuer }) => [
    { name: 'corporate', issuerUrl: issuer.iss, audience: issuer.audience, allowPrivateIP: true },
    {
      name: 'github',
      issuerUrl: github.iss,
      audience: github.audience,
      allowPrivateIP: true,
      // A workflow token contains only the repository owner; the configuration maps owners to organizations.
      claims: [{ from: '/repository_owner', to: 'org', values: { acme: 'acme', contoso: 'contoso' } }],
    },
  ],
})
  .source('published', { kind: 'managed' })
  .source('other', { servers: [aServer('io.acme/other')], claims: CLAIMS })
  .registry('main', { sources: ['published', 'other'], claims: CLAIMS, publishClaims: CLAIMS })
  .registry('reading', { sources: ['published'], claims: CLAIMS })
  .registry('unfilled', { sources: ['other'], publishClaims: CLAIMS })
  .configuration({ rootRegistry: 'main' })
  .runs();

/** Sends the official client's requests, header by header, as with `--registry`. */
class McpPublisher {
  private token = '';

  constructor(private readonly registry = '/registry/main') {}

  async login(oidc_token: string): Promise<Reply> {
    const reply = await this.send(
      'POST',
      '/v0/auth/github-oidc',
      { oidc_token },
      { Accept: 'application/json' },
    );
    this.token = (reply.json as { registry_token?: string } | undefined)?.registry_token ?? '';
    return reply;
  }

  publish(server: Document): Promise<Reply> {
    return this.send('POST', '/v0/publish', server, this.authorization);
  }

  validate(server: Document): Promise<Reply> {
    return this.send('POST', '/v0/validate', server);
  }

  /** Reads the current status before setting another. */
  async status(
    name: string,
    version: string | undefined,
    change: Document,
  ): Promise<{ before: Reply; after: Reply }> {
    const path = `/v0/servers/${encodeURIComponent(name)}`;
    const at = version === undefined ? '/versions' : `/versions/${version}`;
    const before = await this.send('GET', `${path}${at}?include_deleted=true`, undefined, this.authorization);
    const of = version === undefined ? '' : at;
    return { before, after: await this.send('PATCH', `${path}${of}/status`, change, this.authorization) };
  }

  private get authorization(): Headers {
    return { Authorization: `Bearer ${this.token}` };
  }

  // Go's HTTP client requests gzip and decompresses on its own.
  private async send(method: string, path: string, body: unknown, headers: Headers = {}): Promise<Reply> {
    const reply = await service.send(method, this.registry + path, {
      body,
      headers: { 'User-Agent': 'Go-http-client/1.1', 'Accept-Encoding': 'gzip', ...headers },
    });
    if (reply.headers['content-encoding'] !== 'gzip') return reply;
    const text = gunzipSync(reply.bytes).toString();
    return { ...reply, text, json: JSON.parse(text) as never };
  }
}

async function loggedIn(job: Document = JOB, registry?: string): Promise<McpPublisher> {
  const publisher = new McpPublisher(registry);
  expect((await publisher.login(github.sign(job))).status).toBe(200);
  return publisher;
}

/** Includes every member that the client writes, including empty ones such as `repository`. */
function aWrittenServer(name: string, version = '1.0.0', more: Document = {}): Document {
  return aServer(name, version, {
    repository: {},
    packages: [
      { registryType: 'npm', identifier: '@acme/weather', version: '1.0.0', transport: { type: 'stdio' } },
    ],
    ...more,
  });
}

describe('mcp-publisher in a workflow', () => {
  it("logs in with the workflow's token and gets it back", async () => {
    const token = github.sign(JOB);
    const reply = await new McpPublisher().login(token);
    expect({ status: reply.status, body: reply.json as unknown }).toEqual({
      status: 200,
      body: { registry_token: token, expires_at: expect.any(Number) as number },
    });
    expect(reply.headers['cache-control']).toBe('no-store');
  });

  it('publishes a server that callers who cover its claims see and others do not', async () => {
    const name = aName();
    const reply = await (await loggedIn()).publish(aWrittenServer(name));
    expect(reply.status).toBe(201);
    const { server } = reply.json as { server: Document };
    expect({ ...server, repository: {} }).toEqual(aWrittenServer(name));
    expect(Object.keys(server)).not.toContain('repository');
    expect(reply.json).toEqual({
      server,
      _meta: {
        'io.modelcontextprotocol.registry/official': expect.objectContaining({
          status: 'active',
          isLatest: true,
        }) as object,
      },
    });
    const path = `/registry/main/v0.1/servers?search=${name}`;
    expect(serversIn(await service.as(COLLEAGUE).get(path))).toEqual([name]);
    expect((await service.as({ ...COLLEAGUE, org: 'contoso' }).get(path)).text).not.toContain(name);
    const { json } = await service.as({ ...COLLEAGUE }).get(`/v1/entries/server/${encodeURIComponent(name)}`);
    expect(json).toMatchObject({ claims: CLAIMS });
  });

  it.each(['/registry/main', ''])('publishes at %s, even under v0.1', async (base) => {
    const publisher = await loggedIn(JOB, base);
    expect((await publisher.publish(aWrittenServer(aName()))).status).toBe(201);
    expect(
      (await service.bearing(github.sign(JOB)).post(`${base}/v0.1/publish`, aWrittenServer(aName()))).status,
    ).toBe(201);
  });

  it("gets 409 for an existing version, and the name's claims when they differ", async () => {
    const publisher = await loggedIn();
    const [name, foreign] = [aName(), aName()];
    await publisher.publish(aWrittenServer(name));
    expectRefused(await publisher.publish(aWrittenServer(name)), 409, 'version_exists');
    await service
      .as({ ...COLLEAGUE, team: 'x' })
      .post('/v1/entries', { server: aServer(foreign), claims: { team: 'x' } });
    expectRefused(await publisher.publish(aWrittenServer(foreign, '2.0.0')), 400, 'claims_mismatch');
  });

  it('gets 422 for an invalid document and can request the issues', async () => {
    const publisher = await loggedIn();
    const broken = aWrittenServer(aName(), '1.0.0', {
      description: '',
      remotes: [{ type: 'carrier pigeon' }],
    });
    expectRefused(await publisher.publish(broken), 422, 'unprocessable_document');
    const { status, json } = await publisher.validate(broken);
    const { valid, issues } = json as { valid: boolean; issues: Document[] };
    expect({ status, valid }).toEqual({ status: 200, valid: false });
    expect(issues.map(({ path }) => path)).toEqual(
      expect.arrayContaining(['description', 'remotes[0].type']),
    );
    for (const issue of issues)
      expect(issue).toEqual({
        type: 'schema',
        path: expect.any(String),
        message: expect.any(String),
        severity: 'error',
        reference: '',
      });
  });

  it('gets 422 for a publisher block beyond limits.publisherMeta, and the issue', async () => {
    const publisher = await loggedIn();
    const withBlock = (bytes: number) =>
      aWrittenServer(aName(), '1.0.0', {
        _meta: { [PUBLISHER_PROVIDED]: { text: 'x'.repeat(bytes - '{"text":""}'.length) } },
      });
    const tooLong = withBlock(256 * 1024 + 1);
    expectRefused(await publisher.publish(tooLong), 422, 'unprocessable_document');
    expect((await publisher.validate(tooLong)).json).toMatchObject({
      valid: false,
      issues: [{ path: `_meta.${PUBLISHER_PROVIDED}`, message: expect.stringContaining('262144') as string }],
    });
    expect((await publisher.publish(withBlock(256 * 1024))).status).toBe(201);
  });

  it('may send compressed bodies only with a token', async () => {
    const sent = { 'Content-Type': 'application/json', 'Content-Encoding': 'gzip' };
    const body = gzipSync(JSON.stringify(aWrittenServer(aName())));
    for (const path of ['validate', 'auth/github-oidc'])
      expectRefused(
        await service.post(`/registry/main/v0/${path}`, body, sent),
        415,
        'unsupported_media_type',
      );
    const reply = await service.as(COLLEAGUE).post('/registry/main/v0/publish', body, sent);
    expect(reply.status).toBe(201);
  });

  it('validates without a token and writes nothing', async () => {
    const name = aName();
    const reply = await new McpPublisher().validate(aWrittenServer(name));
    expect({ status: reply.status, body: reply.json as unknown }).toEqual({
      status: 200,
      body: { valid: true, issues: [] },
    });
    expect(
      (await service.as(COLLEAGUE).get(`/registry/main/v0/servers/${encodeURIComponent(name)}/versions`))
        .status,
    ).toBe(404);
    expect(
      (
        await service.post('/registry/main/v0/validate', '{"name":"a/b","count":12345678901234567890}', {
          'Content-Type': 'application/json',
        })
      ).json,
    ).toMatchObject({ valid: false });
    expectRefused(await service.post('/registry/main/v0/validate', '{'), 400, 'malformed_json');
  });

  it('sets the status of one version, and of all versions', async () => {
    const publisher = await loggedIn();
    const name = aName();
    for (const version of ['1.0.0', '1.1.0']) await publisher.publish(aWrittenServer(name, version));
    const one = await publisher.status(name, '1.0.0', { status: 'deprecated', statusMessage: 'Take 1.1.0' });
    expect(one.before.json).toMatchObject(official({ status: 'active' }));
    expect({ status: one.after.status, keys: Object.keys(one.after.json) }).toEqual({
      status: 200,
      keys: ['server', '_meta'],
    });
    expect(one.after.json).toMatchObject(official({ status: 'deprecated', statusMessage: 'Take 1.1.0' }));
    const all = await publisher.status(name, undefined, { status: 'deleted' });
    expect((all.before.json as { servers: object[] }).servers).toHaveLength(2);
    expect(all.after.json).toMatchObject({
      updatedCount: 2,
      servers: [official({ status: 'deleted' }), official({ status: 'deleted' })],
    });
    const restored = await publisher.status(name, '1.1.0', { status: 'active' });
    expect(restored.before.json).toMatchObject(official({ status: 'deleted' }));
    expect(restored.after.status).toBe(200);
    expectRefused(
      (await publisher.status(name, '9.9.9', { status: 'active' })).after,
      404,
      'version_not_found',
    );
    expectRefused(
      (await publisher.status(aName(), undefined, { status: 'active' })).after,
      404,
      'entry_not_found',
    );
    expectRefused((await publisher.status(name, '1.1.0', { status: 'gone' })).after, 400, 'invalid_body');
  });
});

describe('mcp-publisher is refused', () => {
  it.each([
    ['from another issuer', () => anIssuer().sign(JOB)],
    ['for another audience', () => github.sign({ ...JOB, aud: 'mcp-registry' })],
    ['that has expired', () => github.sign({ ...JOB, exp: 1_700_000_000 })],
    ['that is malformed', () => 'not a token'],
  ])('for a login with a token %s', async (_which, token) => {
    const reply = await new McpPublisher().login(token());
    expectChallenge(reply, { error: 'invalid_token' });
  });

  it('for a login without a token', async () => {
    expectRefused(
      await service.post('/registry/main/v0/auth/github-oidc', { token: 'x' }),
      400,
      'invalid_body',
    );
  });

  it('for publishing without a token, without access to the registry, or without a role', async () => {
    expectChallenge(await service.post('/registry/main/v0/publish', aServer(aName())));
    const contoso = { ...JOB, repository_owner: 'contoso' };
    expectRefused(await (await loggedIn(contoso)).publish(aServer(aName())), 403, 'registry_forbidden');
    expectRefused(
      await (await loggedIn({ ...JOB, repository_owner: 'initech' })).publish(aServer(aName())),
      403,
      'role_required',
    );
  });

  it.each(['/registry/reading', '/registry/unfilled', '/registry/nowhere'])(
    'at %s, which takes no publications, for every caller',
    async (registry) => {
      for (const publisher of [await loggedInElsewhere(registry), new McpPublisher(registry)])
        for (const reply of [
          await publisher.validate(aServer(aName())),
          await publisher.login(github.sign(JOB)),
        ])
          expectRefused(reply, 501, 'use_admin_api');
      for (const caller of [COLLEAGUE, { sub: 'nemo' }])
        for (const [method, path] of [
          ['POST', '/v0/publish'],
          ['PATCH', '/v0.1/servers/a%2Fb/status'],
          ['PATCH', '/v0/servers/a%2Fb/versions/1.0.0/status'],
        ] as const)
          expectRefused(
            await service.as(caller).send(method, registry + path, { body: {} }),
            501,
            'use_admin_api',
          );
    },
  );

  it.each(['none', 'github-at', 'dns', 'http', 'oidc'])(
    'for a login with the method "%s"; the response names the supported one',
    async (method) => {
      for (const base of ['/registry/main/v0', '/registry/nowhere/v0.1', '/v0'])
        for (const sender of [service, service.as(COLLEAGUE)]) {
          const reply = await sender.post(`${base}/auth/${method}`, { domain: 'acme.example' });
          expectRefused(reply, 501, 'use_admin_api');
          expect(reply.text).toContain('github-oidc');
        }
      expectChallenge(await service.post('/registry/main/v0/other/none', {}));
    },
  );

  it('for a login with the method "github", which first requests the client ID of a GitHub app', async () => {
    for (const base of ['/registry/main/v0', '/registry/nowhere/v0.1', '/v0']) {
      const reply = await service.get(`${base}/health`);
      expectRefused(reply, 501, 'use_admin_api');
      expect(reply.text).toContain('github-oidc');
    }
    expectRefused(await service.get('/registry/main/v0/healthy'), 404, 'route_not_found');
  });
});

describe('mcp-publisher in anonymous mode', () => {
  const open = aService()
    .source('published', { kind: 'managed' })
    .registry('main', { sources: ['published'], publishClaims: CLAIMS })
    .registry('reading', { sources: ['published'] })
    .configuration({ rootRegistry: 'main' })
    .runs();

  it.each(['/registry/main/v0', '/registry/main/v0.1', '/v0'])(
    'logs in with the method "none" at %s and publishes with the token',
    async (base) => {
      const { status, json, headers } = await open.post(`${base}/auth/none`);
      const { registry_token: token, expires_at: expiry } = json as unknown as Record<string, unknown>;
      expect({ status, keys: Object.keys(json) }).toEqual({
        status: 200,
        keys: ['registry_token', 'expires_at'],
      });
      expect(headers['cache-control']).toBe('no-store');
      expect(Number(expiry) * 1_000).toBeGreaterThan(Date.now());
      const name = aName();
      const reply = await open.post(`${base}/publish`, aServer(name), {
        Authorization: `Bearer ${String(token)}`,
      });
      expect(reply.status).toBe(201);
      expect(serversIn(await open.get(`/registry/main/v0.1/servers?search=${name}`))).toEqual([name]);
    },
  );

  it('is refused in a registry that takes no publications, and with any other login method', async () => {
    for (const registry of ['reading', 'nowhere'])
      expectRefused(await open.post(`/registry/${registry}/v0/auth/none`), 501, 'use_admin_api');
    for (const other of [
      await open.post('/registry/main/v0/auth/dns', {}),
      await open.get('/registry/main/v0/health'),
    ]) {
      expectRefused(other, 501, 'use_admin_api');
      expect(other.text).toContain('log in with none');
    }
  });
});

async function loggedInElsewhere(registry: string): Promise<McpPublisher> {
  const publisher = new McpPublisher(registry);
  await publisher.login(github.sign(JOB));
  return publisher;
}

function official(expected: Document): Document {
  return { _meta: { 'io.modelcontextprotocol.registry/official': expected } };
}
