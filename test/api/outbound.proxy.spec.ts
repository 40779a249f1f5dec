import { once } from 'node:events';
import { mkdirSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from 'vitest';
import { proxyOf } from '../../dist/config/environment.js';
import { HttpClient } from '../../dist/outbound/http-client.js';
import { GitRemote } from '../../dist/git/git-remote.js';
import { makeCertificates } from '../support/certificates.js';
import { syncOf, watching } from '../support/cluster-objects.js';
import { aCatalogue, aServer } from '../support/documents.js';
import { connectionTo, registryFileIn } from '../support/git-connections.js';
import { aGitServer } from '../support/git-server.js';
import { aFileOf, aTemporaryDirectory } from '../support/git-service.js';
import { anIssuer } from '../support/issuer.js';
import { aCluster } from '../support/kubernetes-api.js';
import { expectRefused } from '../support/matchers.js';
import { aProxy } from '../support/proxy.js';
import { findSecrets, keepSecret } from '../support/secrets.js';
import { aService } from '../support/service.js';
import { anUpstreamRegistry } from '../support/upstream-registry.js';
import { within } from '../support/within.js';

const PASSWORD = 'the p@ssword of the proxy';
const proxy = aProxy({ username: 'registry', password: PASSWORD }).runs();
const encrypted = anIssuer({ tls: true }).runs();
keepSecret(encodeURIComponent(PASSWORD));
afterEach(() => {
  proxy.takeRequests();
  proxy.status = undefined;
});

describe('an HTTP client behind a proxy', () => {
  /** `/to?URL` redirects to URL; other paths return the Host that was requested. */
  const web = createServer(({ url = '', headers: { host } }, response) => {
    const [path, target = ''] = url.split('?');
    if (path === '/to') return void response.writeHead(302, { Location: target }).end();
    response.end(JSON.stringify({ host }));
  });
  const clients: HttpClient[] = [];
  const aClient = (environment: NodeJS.ProcessEnv = { HTTPS_PROXY: proxy.url, HTTP_PROXY: proxy.url }) => {
    const options = { maxConnections: 2, caCert: encrypted.ca, proxy: proxyOf(environment).proxy };
    const client = new HttpClient({
      ...options,
      resolve: (_name, done) => done(null, [{ address: '127.0.0.1', family: 4 }]),
    });
    clients.push(client);
    return client;
  };
  const get = (client: HttpClient, url: string, allowPrivate = false) =>
    client.getJson(url, { timeoutMs: 5_000, maxBytes: 10_000, allowPrivate, redirects: 'any-origin' });
  const port = () => (web.address() as AddressInfo).port;
  beforeAll(async () => {
    web.listen(0, '127.0.0.1');
    await once(web, 'listening');
  });
  afterAll(async () => {
    await Promise.all(clients.map((client) => client.close()));
    web.close();
  });

  it('requests http:// URLs from the proxy, which resolves the host', async () => {
    const url = `http://web.example:${port()}/a?b=c`;
    expect(await get(aClient(), url)).toEqual({ host: `web.example:${port()}` });
    expect(proxy.takeRequests()).toEqual([`GET ${url}`]);
  });

  it('tunnels https:// requests and verifies the same CAs as without a proxy', async () => {
    const client = aClient();
    expect(await get(client, encrypted.jwksUrl, true)).toHaveProperty('keys');
    expect(proxy.takeRequests()).toEqual([`CONNECT 127.0.0.1:${encrypted.port}`]);
    const other = `https://other.example:${encrypted.port}/jwks`;
    await expect(get(client, other)).rejects.toThrow(/its TLS certificate is for another name$/);
  });

  it('sends a form through the proxy', async () => {
    const url = `http://web.example:${port()}/form`;
    const form = aClient().postForm(
      url,
      { a: 'b' },
      { timeoutMs: 5_000, maxBytes: 10_000, allowPrivate: false },
    );
    expect(await form).toHaveProperty('host');
    expect(proxy.takeRequests()).toEqual([`POST ${url}`]);
  });

  it.each([
    'http://10.0.0.1/',
    'https://127.0.0.1/',
    'http://[::1]/',
    'http://169.254.169.254/latest',
    'http://localhost/',
    'https://LOCALHOST./',
    'http://a.localhost/',
  ])('refuses %s without contacting the proxy when private addresses are not allowed', async (url) => {
    await expect(get(aClient(), url)).rejects.toThrow(/private address/);
    expect(proxy.takeRequests()).toEqual([]);
  });

  it('requests private addresses from the proxy where they are allowed', async () => {
    expect(await get(aClient(), `http://127.0.0.1:${port()}/`, true)).toHaveProperty('host');
    expect(proxy.takeRequests()).toHaveLength(1);
  });

  it('refuses a redirect to a private address', async () => {
    const led = (host: string) => get(aClient(), `http://web.example:${port()}/to?http://${host}:${port()}/`);
    await expect(led('localhost')).rejects.toThrow(/localhost is at a private address/);
    expect(proxy.takeRequests()).toHaveLength(1);
    expect(await led('other.example')).toEqual({ host: `other.example:${port()}` });
  });

  it('bypasses the proxy for NO_PROXY, with the address guard', async () => {
    const client = aClient({ HTTP_PROXY: proxy.url, NO_PROXY: '.example,127.0.0.0/8' });
    await expect(get(client, `http://web.example:${port()}/`)).rejects.toThrow(
      /web\.example is at a private address/,
    );
    expect(await get(client, `http://127.0.0.1:${port()}/`, true)).toHaveProperty('host');
    expect(proxy.takeRequests()).toEqual([]);
  });

  it.each([403, 407, 502])('reports a refusal by the proxy (%i) without its password', async (status) => {
    proxy.status = status;
    for (const url of [`http://web.example:${port()}/`, `https://web.example:${port()}/`]) {
      const error = await get(aClient(), url).catch((reason: unknown) => reason as Error);
      expect(String(error)).toMatch(new RegExp(`${url}: .*(${status}|Proxy)`));
      expect(findSecrets(`${String(error)} ${(error as Error).stack ?? ''}`)).toEqual([]);
    }
  });

  it('reports an unreachable proxy', async () => {
    const client = aClient({ HTTPS_PROXY: `http://registry:${encodeURIComponent(PASSWORD)}@127.0.0.1:1` });
    const error = await get(client, 'https://web.example/').catch((reason: unknown) => reason);
    expect(String(error)).toMatch(/ECONNREFUSED/);
    expect(findSecrets(String(error))).toEqual([]);
  });
});

describe('git behind a proxy', () => {
  const certificates = makeCertificates();
  const plain = aGitServer().runs();
  const secure = aGitServer().secure(certificates).runs();
  const leftovers = aTemporaryDirectory();
  beforeAll(async () => {
    for (const server of [plain, secure])
      await server.repository('acme').commit({ 'registry.json': aFileOf('one') });
  });
  afterEach(() => void vi.unstubAllEnvs());

  const read = async (
    repository: string,
    environment: NodeJS.ProcessEnv,
    origin: 'config' | 'api' = 'config',
  ) => {
    const way = await connectionTo({ repository }, origin, { proxy: proxyOf(environment).proxy });
    const remote = await GitRemote.open(way, new AbortController().signal);
    try {
      return await registryFileIn(remote, { repository });
    } finally {
      await remote.close();
    }
  };
  const both = () => ({ HTTP_PROXY: proxy.url, HTTPS_PROXY: proxy.url });

  it('reads through the proxy and leaves nothing behind', async () => {
    expect(await read(plain.url('acme'), both())).toBe(aFileOf('one'));
    expect(proxy.takeRequests()[0]).toContain(`GET ${plain.url('acme')}/info/refs`);
    await expect.poll(leftovers).toEqual([]);
  });

  it('reads through a tunnel', async () => {
    const folder = join(process.env['TMPDIR'] ?? '', 'authorities');
    mkdirSync(folder);
    writeFileSync(join(folder, 'ca.pem'), certificates.ca);
    vi.stubEnv('NODE_EXTRA_CA_CERTS', join(folder, 'ca.pem'));
    expect(await read(secure.url('acme'), both())).toBe(aFileOf('one'));
    expect(new Set(proxy.takeRequests())).toEqual(new Set([`CONNECT 127.0.0.1:${secure.port}`]));
  });

  it('lets the proxy resolve the host of an API-made source, and refuses private addresses', async () => {
    expect(await read(`http://git.example:${plain.port}/acme.git`, both(), 'api')).toBe(aFileOf('one'));
    proxy.takeRequests();
    for (const host of ['127.0.0.1', 'localhost', '10.0.0.1'])
      await expect(read(`http://${host}:${plain.port}/acme.git`, both(), 'api')).rejects.toThrow(
        /private address/,
      );
    expect(proxy.takeRequests()).toEqual([]);
  });

  it("bypasses the proxy for NO_PROXY and ignores this process's environment", async () => {
    vi.stubEnv('http_proxy', proxy.url);
    vi.stubEnv('ALL_PROXY', proxy.url);
    expect(await read(plain.url('acme'), { ...both(), NO_PROXY: '127.0.0.1' })).toBe(aFileOf('one'));
    expect(await read(plain.url('acme'), {})).toBe(aFileOf('one'));
    expect(proxy.takeRequests()).toEqual([]);
  });

  it.each([403, 407])('reports a refusal by the proxy (%i) without its password', async (status) => {
    proxy.status = status;
    for (const url of [plain.url('acme'), secure.url('acme')]) {
      const error = await read(url, both()).catch((reason: unknown) => reason);
      expect(String(error)).toMatch(/FetchError|denied|proxy/);
      expect(findSecrets(String(error))).toEqual([]);
    }
  });
});

describe('a service behind a proxy', () => {
  const upstream = anUpstreamRegistry().runs();
  const cluster = aCluster().runs();
  const service = watching(cluster, aService({ mode: 'auth-only' }))
    .source('cluster', { kind: 'kubernetes' })
    .registry('main', { sources: ['cluster'] });
  const files = createServer((_request, response) =>
    response.end(JSON.stringify(aCatalogue([aServer('io.acme/file')]))),
  );
  beforeAll(async () => {
    files.listen(0, '127.0.0.1');
    await once(files, 'listening');
    upstream.put([aServer('io.acme/upstream')]);
    cluster.put('MCPServer', 'tools/one', {});
    Object.assign(service.environment, { HTTP_PROXY: proxy.url, HTTPS_PROXY: proxy.url });
    const url = `http://files.example:${(files.address() as AddressInfo).port}/registry.json`;
    service
      .source('upstream', { kind: 'api', settings: { endpoint: upstream.url } })
      .source('file', { settings: { url }, missing: true })
      .registry('all', { sources: ['upstream', 'file'] });
  });
  afterAll(() => files.close());
  service.runs();

  it('reaches identity providers and upstreams through it, the cluster and the database directly', async () => {
    await service.synced('upstream');
    await service.synced('file');
    await within(20_000, async () =>
      expect(await syncOf(service.as({}))).toMatchObject({ status: 'complete' }),
    );
    const { json } = await service.as({}).get('/registry/all/v0.1/servers');
    const names = (json as { servers: { server: { name: string } }[] }).servers.map(
      ({ server }) => server.name,
    );
    expect(names).toEqual(['io.acme/file', 'io.acme/upstream']);
    const hosts = new Set(proxy.takeRequests().map((asked) => new URL(asked.split(' ')[1] ?? '').host));
    const { port } = files.address() as AddressInfo;
    expect(hosts).toEqual(
      new Set([`127.0.0.1:${service.issuer.port}`, new URL(upstream.url).host, `files.example:${port}`]),
    );
  });

  it('returns 503 when the proxy refuses the provider, and logs no password', async () => {
    proxy.status = 403;
    await service.restart();
    expectRefused(await service.as({}).get('/v1/me'), 503, 'provider_unavailable');
    const failed = await service.synced('upstream');
    expect(failed.status).toBe('failed');
    expect(findSecrets(`${failed.error ?? ''}${service.log.join('')}`)).toEqual([]);
  });
});
