import { randomBytes, randomUUID } from 'node:crypto';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { stringify } from 'yaml';
import { Cli } from '../support/cli.js';
import { type CapturedSpan, Collector, valuesOf } from '../support/collector.js';
import { aDatabase, type TestDatabase } from '../support/database.js';
import { aServer } from '../support/documents.js';
import { aGitServer } from '../support/git-server.js';
import { aFileOf } from '../support/git-service.js';
import { call, callWith, type Reply, type Sent } from '../support/http.js';
import { anIssuer } from '../support/issuer.js';
import { aWebhookSecret, Receiver } from '../support/receiver.js';
import { findSecrets, keepSecret } from '../support/secrets.js';
import { anUpstreamRegistry } from '../support/upstream-registry.js';

const LIST = '/registry/main/v0.1/servers';
const ROUTE = '/registry/:registry/v0.1/servers';
const client = { id: 'registry', secret: keepSecret('the secret of the introspection client') };
const gitPassword = keepSecret('the password of the repository');
const upstreamToken = keepSecret('the-bearer-token-of-another-registry');

/** Stops everything, and expects no secret in the spans or the log. */
async function stopWithoutSecrets(
  service: Cli,
  collector: Collector,
  database: TestDatabase,
  folder: string,
): Promise<void> {
  service.child.kill('SIGTERM');
  const { output } = await service.finished;
  await collector.stop();
  await database.drop();
  await rm(folder, { recursive: true });
  // Last, so that it covers everything the tests have caused.
  expect({ spans: findSecrets(collector.received), log: findSecrets(output) }).toEqual({
    spans: [],
    log: [],
  });
}

describe('a service that sends traces', () => {
  const collector = new Collector();
  const git = aGitServer().runs();
  git.account = { username: 'reader', password: gitPassword };
  const upstream = anUpstreamRegistry().runs();
  const issuer = anIssuer({ client }).runs();
  let database: TestDatabase;
  let folder = '';
  let service: Cli;
  let origin = '';
  let internal = '';
  let token = '';

  const send = (method: string, path: string, { headers, ...sent }: Sent = {}): Promise<Reply> =>
    callWith(origin + path, method, { ...sent, headers: { Authorization: `Bearer ${token}`, ...headers } });
  /** The span of the only request in this trace, once it has arrived. */
  const spanOf = async (traceId: string): Promise<CapturedSpan> => {
    const found = () =>
      collector.spans.filter((span) => span.traceId === traceId && 'http.route' in span.attributes);
    await expect.poll(found).toHaveLength(1);
    const [span] = found();
    if (!span) throw new Error('Gone before it was seen');
    return span;
  };
  const readiness = async () => (await call(internal.replace('/metrics', '/readiness'))).status;
  const traceOf = () => randomUUID().replaceAll('-', '');
  const traceparent = (traceId: string) => ({ traceparent: `00-${traceId}-${'ab'.repeat(8)}-01` });
  const logOf = (requestId: string) =>
    service.output.split('\n').filter((line) => line.includes(requestId)).map((line) => JSON.parse(line) as object); // oxfmt-ignore

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'registry-traces-'));
    database = await aDatabase();
    await git.repository('acme').commit({ 'registry.json': aFileOf('one') });
    upstream.put([aServer('io.other/upstream')]);
    await collector.start();
    const secret = async (name: string, content: string) => {
      await writeFile(join(folder, name), content);
      return join(folder, name);
    };
    const provider = {
      name: 'corporate',
      issuerUrl: issuer.iss,
      audience: issuer.audience,
      allowPrivateIP: true,
    };
    const introspected = { introspectionUrl: issuer.introspectionUrl, clientId: client.id };
    const opaque = { ...introspected, clientSecretFile: await secret('client', client.secret) };
    const auth = { username: 'reader', passwordFile: await secret('password', gitPassword) };
    const tokenFile = await secret('token', upstreamToken);
    const configuration = {
      auth: {
        oauth: { resourceUrl: 'https://registry.example.com', providers: [{ ...provider, ...opaque }] },
        authz: { roles: { superAdmin: [{ role: 'super-admin' }] } },
      },
      sources: [
        { name: 'repository', git: { repository: git.url('acme'), branch: 'main', auth }, syncPolicy: { interval: '1h' } },
        { name: 'other', api: { endpoint: upstream.url.replace('127.0.0.1', 'localhost'), tokenFile }, syncPolicy: { interval: '1h' } },
        { name: 'made', managed: {} },
      ],
      registries: [{ name: 'main', sources: ['repository', 'other', 'made'] }],
      database: database.connection,
      telemetry: { traceparentHosts: ['localhost'] },
    }; // oxfmt-ignore
    await writeFile(join(folder, 'registry.yaml'), stringify(configuration));
    token = issuer.sign({ role: 'super-admin', sub: 'somebody' });
    service = Cli.serve(join(folder, 'registry.yaml'), {
      ...collector.environment,
      REGISTRY_LOG_LEVEL: 'debug',
    });
    origin = await service.origin();
    internal = /"metrics":"(http:\/\/[^"]+)"/.exec(service.output)?.[1] ?? '';
  });

  afterAll(() => stopWithoutSecrets(service, collector, database, folder));

  it('traces a list: the request and its statements', async () => {
    const traceId = traceOf();
    const requestId = randomUUID();
    const headers = { ...traceparent(traceId), 'X-Request-Id': requestId, 'User-Agent': 'hush-agent' };
    const reply = await send('GET', `${LIST}?limit=1&version=hush-version`, { headers });
    expect(reply.status).toBe(200);
    const span = await spanOf(traceId);
    const [host, port] = origin.replace('http://', '').split(':');
    expect(span.attributes).toEqual({
      'http.request.method': 'GET',
      'http.response.status_code': 200,
      'http.route': ROUTE,
      'network.protocol.version': '1.1',
      'server.address': host,
      'server.port': Number(port),
      'url.path': LIST,
      'url.scheme': 'http',
    });
    const tree = collector.tree(span);
    expect(tree[0]).toBe(`GET ${ROUTE}`);
    expect(tree).toContain(`  SELECT ${database.database}`);
    await expect
      .poll(() => logOf(requestId).at(-1))
      .toMatchObject({
        traceId,
        requestId,
        route: ROUTE,
        status: 200,
        subject: 'somebody',
        issuer: issuer.iss,
      });
    expect(collector.received).not.toContain('hush');
  });

  it('traces a publication: its transaction, without statement parameters', async () => {
    const traceId = traceOf();
    const server = aServer('io.acme/hush-entry', '1.0.0', { description: 'a hush-description' });
    const body = { server, claims: { org: 'hush-claim' } };
    expect((await send('POST', '/v1/entries', { headers: traceparent(traceId), body })).status).toBe(201);
    const span = await spanOf(traceId);
    const tree = collector.tree(span);
    expect(tree[0]).toBe('POST /v1/entries');
    const operations = tree.map((line) => line.trim().split(' ')[0]);
    expect(operations.filter((name) => name === 'START' || name === 'COMMIT')).toEqual(['START', 'COMMIT']);
    expect(operations).toContain('INSERT');
    const statements = collector.spans.filter(
      (one) => one.traceId === traceId && 'db.query.text' in one.attributes,
    );
    expect(statements.length).toBeGreaterThan(5);
    for (const { attributes } of statements)
      expect(attributes).toMatchObject({ 'db.system.name': 'postgresql', 'db.namespace': database.database });
    expect(collector.received).not.toMatch(/hush-(entry|description|claim)/);
  });

  it('keeps the spans of concurrent requests apart', async () => {
    const traces = Array.from({ length: 8 }, traceOf);
    const rehearse = (traceId: string, number: number) =>
      send('POST', '/v1/entries?dry_run=true', {
        headers: traceparent(traceId),
        body: { server: aServer(`io.acme/at-once-${number}`), claims: { org: 'acme' } },
      });
    const replies = await Promise.all(traces.map(rehearse));
    expect(new Set(replies.map(({ status }) => status))).toEqual(new Set([200]));
    for (const traceId of traces) {
      const operations = collector.tree(await spanOf(traceId)).map((line) => line.trim().split(' ')[0]);
      expect(operations.filter((name) => name === 'START' || name === 'ROLLBACK')).toEqual([
        'START',
        'ROLLBACK',
      ]);
    }
  });

  it('traces each sync separately, including git and HTTP requests', async () => {
    await expect.poll(() => collector.named('sync git').length).toBe(1);
    await expect.poll(() => collector.named('sync api').length).toBe(1);
    const [sync] = collector.named('sync git');
    const [mirrored] = collector.named('sync api');
    if (!sync || !mirrored) throw new Error('Gone before they were seen');
    expect(sync).toMatchObject({
      parent: undefined,
      attributes: {
        'registry.source.name': 'repository',
        'registry.source.kind': 'git',
        'registry.sync.outcome': 'complete',
      },
    });
    const tree = collector.tree(sync);
    expect(tree.slice(0, 2)).toEqual(['sync git', '  fetch']);
    expect(tree).toContain('    git fetch');
    expect(tree).toContain('  write');
    const [request] = collector.spans.filter(
      (span) => span.traceId === mirrored.traceId && 'url.full' in span.attributes,
    );
    expect(request?.name).toBe('GET');
    expect(request?.attributes).toMatchObject({
      'server.address': 'localhost',
      'http.response.status_code': 200,
      'url.full': upstream.url.replace('127.0.0.1', 'localhost'),
    });
  });

  it('propagates the trace context to the listed hosts only', async () => {
    expect(upstream.traceparents.length).toBeGreaterThan(0);
    const [mirrored] = collector.named('sync api');
    expect(upstream.traceparents[0]).toContain(`00-${mirrored?.traceId}-`);
    const opaque = issuer.opaque({ role: 'super-admin' });
    const traceId = traceOf();
    const headers = { ...traceparent(traceId), Authorization: `Bearer ${opaque}` };
    expect((await callWith(origin + LIST, 'GET', { headers })).status).toBe(200);
    const tree = collector.tree(await spanOf(traceId));
    // The unlisted host was requested within the trace, without a traceparent.
    expect(tree).toContain('  POST');
    expect(issuer.traceparents).toEqual([]);
  });

  it('contains no registry key', async () => {
    const traceId = traceOf();
    const key = keepSecret(randomBytes(32).toString('base64url'));
    const headers = traceparent(traceId);
    expect((await callWith(`${origin}/registry/main/k/${key}/v0.1/servers`, 'GET', { headers })).status).toBe(
      404,
    );
    const found = () =>
      collector.spans.find((span) => span.traceId === traceId && 'url.path' in span.attributes);
    await expect.poll(() => found()?.attributes['url.path']).toBe('/registry/main/k/{key}/v0.1/servers');
    expect(collector.received).not.toContain(key);
  });

  it('records refusals by code, and unknown paths without a route', async () => {
    const traceId = traceOf();
    const headers = { ...traceparent(traceId), Authorization: `Bearer ${token.slice(0, -8)}AAAAAAAA` };
    expect((await callWith(origin + LIST, 'GET', { headers })).status).toBe(401);
    expect((await spanOf(traceId)).attributes).toMatchObject({
      'http.response.status_code': 401,
      'registry.error.code': 'token_invalid',
    });
    const unknown = traceOf();
    expect((await send('GET', `/nowhere/${unknown}`, { headers: traceparent(unknown) })).status).toBe(404);
    await expect
      .poll(() => collector.spans.filter((span) => span.traceId === unknown).map(({ name }) => name))
      .toEqual(['GET']);
  });

  it("keeps batched audit writes out of a request's trace", async () => {
    const [traceId, later] = [traceOf(), traceOf()];
    const refused = await callWith(`${origin}/v1/sources`, 'GET', { headers: traceparent(traceId) });
    expect(refused.status).toBe(401);
    const id = String(refused.headers['x-request-id']);
    await expect
      .poll(async () => (await send('GET', '/v1/audit', { headers: traceparent(later) })).text)
      .toContain(id);
    await expect.poll(() => logOf(id).filter((line) => 'at' in line)).toMatchObject([{ traceId }]);
    // Flushes everything written since.
    await expect.poll(() => collector.spans.some((span) => span.traceId === later)).toBe(true);
    expect(collector.tree(await spanOf(traceId))).toEqual(['GET /v1/sources']);
  });

  it('traces only public requests and syncs, not the internal port or background work', async () => {
    expect((await call(internal)).status).toBe(200);
    await expect.poll(readiness).toBe(200);
    const traceId = traceOf();
    await send('GET', '/v1/me', { headers: traceparent(traceId) });
    await spanOf(traceId);
    const roots = collector.spans
      .filter(({ parent }) => parent === undefined)
      .map(({ name }) => name.split(' ')[0]);
    expect([...new Set(roots)].sort()).toEqual(['sync']);
  });

  it('exports the metrics of /metrics under their OpenTelemetry names', async () => {
    const pointsOf = () => collector.metrics.get('http.server.request.duration')?.histogram?.dataPoints ?? [];
    const routes = () => pointsOf().map(({ attributes }) => valuesOf(attributes)['http.route']);
    await expect.poll(routes).toContain(ROUTE);
    expect(collector.metrics.get('http.server.request.duration')).toMatchObject({ unit: 's' });
    for (const { count, bucketCounts, explicitBounds } of pointsOf()) {
      expect(bucketCounts).toHaveLength(explicitBounds.length + 1);
      expect(bucketCounts.reduce((sum, each) => sum + each, 0)).toBe(count);
    }
    await expect.poll(() => collector.metrics.get('registry_publications')?.sum?.isMonotonic).toBe(true);
    const shown = (await call(internal)).text;
    expect(findSecrets(shown)).toEqual([]);
    for (const name of shown.matchAll(/^# TYPE (registry_\w+?)(?:_total|_seconds|_bytes)? /gm))
      if (!name[1]?.startsWith('registry_source'))
        await expect.poll(() => [...collector.metrics.keys()]).toContain(name[1]);
  });

  it.each(['silent', 'rubbish', 'failing'] as const)(
    'keeps working when the collector is %s',
    async (mood) => {
      collector.mood = mood;
      const before = collector.requests;
      for (let count = 0; count < 50; count += 1) expect((await send('GET', LIST)).status).toBe(200);
      await expect.poll(() => collector.requests).toBeGreaterThan(before);
      for (let count = 0; count < 50; count += 1) expect((await send('GET', LIST)).status).toBe(200);
      expect(service.child.exitCode).toBeNull();
      collector.mood = 'good';
    },
  );

  it('keeps working when the collector stops, and logs that once', async () => {
    await collector.stop();
    for (let count = 0; count < 50; count += 1) expect((await send('GET', LIST)).status).toBe(200);
    await service.logs('could not be sent');
    expect(service.output.split('could not be sent')).toHaveLength(2);
    await expect.poll(readiness).toBe(200);
    await collector.start();
  });
});

describe('a service with webhooks that sends traces', () => {
  const collector = new Collector();
  const receiver = new Receiver().runs();
  const path = `/${keepSecret(randomBytes(24).toString('base64url'))}`;
  let database: TestDatabase;
  let folder = '';
  let service: Cli;
  let origin = '';

  const send = (method: string, url: string, traceId: string, body?: object): Promise<Reply> =>
    callWith(origin + url, method, {
      headers: { traceparent: `00-${traceId}-${'ab'.repeat(8)}-01` },
      ...(body ? { body } : {}),
    });
  const spansOf = (traceId: string) => collector.spans.filter((span) => span.traceId === traceId);
  const hasArrived = (traceId: string) =>
    spansOf(traceId).some(({ attributes }) => 'http.route' in attributes);

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'registry-traces-'));
    database = await aDatabase();
    await collector.start();
    receiver.answer = () => ({ status: 200, body: JSON.stringify({ outcome: 'admit' }) });
    const secretFile = join(folder, 'secret');
    await writeFile(secretFile, aWebhookSecret());
    const webhook = { url: new URL(path, receiver.url).href, secretFile };
    const configuration = {
      auth: { mode: 'anonymous' },
      sources: [{ name: 'made', managed: {} }],
      registries: [{ name: 'main', sources: ['made'] }],
      database: database.connection,
      webhooks: [{ name: 'siem', ...webhook, actions: ['entry.publish'] }],
      admission: { webhooks: [{ name: 'scan', ...webhook, on: ['publish'] }] },
    };
    await writeFile(join(folder, 'registry.yaml'), stringify(configuration));
    service = Cli.serve(join(folder, 'registry.yaml'), collector.environment);
    origin = await service.origin();
  });

  afterAll(() => stopWithoutSecrets(service, collector, database, folder));

  it('exports neither the path of an admission webhook nor background work', async () => {
    const [traceId, later] = [randomUUID().replaceAll('-', ''), randomUUID().replaceAll('-', '')];
    const server = aServer('io.acme/traced');
    expect((await send('POST', '/v1/entries', traceId, { server })).status).toBe(201);
    const delivered = async () => (await call(`${origin}/v1/webhooks/siem/deliveries`)).json;
    await expect
      .poll(delivered)
      .toMatchObject({ deliveries: [{ type: 'entry.publish', status: 'delivered' }] });
    // Flushes everything traced since.
    await send('GET', '/registry', later);
    await expect.poll(() => hasArrived(later) && hasArrived(traceId)).toBe(true);
    const outgoing = spansOf(traceId).filter(({ attributes }) => 'url.full' in attributes);
    expect(
      outgoing.map(({ name, attributes }) => [name, attributes['url.full'], attributes['url.path']]),
    ).toEqual([['POST', new URL(receiver.url).origin, undefined]]);
    const statements = spansOf(traceId).map(({ attributes }) => String(attributes['db.query.text']));
    expect(statements.filter((text) => /\bwebhook\b/.test(text))).toEqual([]);
  });
});
