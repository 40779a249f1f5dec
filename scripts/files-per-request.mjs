/* global Buffer, URL, fetch, performance */
// Counts how many of the project's own files a request executes, using V8 function coverage of a running service.
// Run `npm run build` first, then `node scripts/files-per-request.mjs [--names] [checkout]`. Needs git.
//
// A function counts if it runs during the request in at least all rounds but one, and clearly more often than in idle
// intervals of the same length, which excludes background work such as polling. A file counts if one of its functions
// does. Module-level code does not count. Caches are warm: keys are fetched, code is loaded.
import { execFileSync, spawn } from 'node:child_process';
import { generateKeyPairSync, randomUUID, sign } from 'node:crypto';
import { once } from 'node:events';
import { realpathSync } from 'node:fs';
import { chmod, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import process from 'node:process';
import { setTimeout as pause } from 'node:timers/promises';
import { pathToFileURL } from 'node:url';
import { parseArgs } from 'node:util';

const { values, positionals } = parseArgs({
  options: { names: { type: 'boolean', default: false } },
  allowPositionals: true,
});
/** V8 identifies modules by their real path. */
const DIST = realpathSync(join(positionals[0] ?? join(import.meta.dirname, '..'), 'dist'));
const WARM_UPS = 3;
const ROUNDS = 9;
/** Pause after the response, for trailing work such as the request's log line. */
const SETTLE_MS = 100;
const SYNC_MS = 2_000;

/** Preloaded into the service. Replies to each message with `[file, function offset, calls]` since the previous one. */
const PRELOAD = `
  import { Session } from 'node:inspector/promises';
  import { isMainThread } from 'node:worker_threads';
  if (isMainThread) {
    const session = new Session();
    session.connect();
    await session.post('Profiler.enable');
    await session.post('Profiler.startPreciseCoverage', { callCount: true, detailed: false });
    process.on('message', async (dist) => {
      const { result } = await session.post('Profiler.takePreciseCoverage');
      const own = result.filter(({ url }) => url.startsWith(dist));
      process.send(own.flatMap(({ url, functions }) => functions
        .map(({ ranges: [{ startOffset, count }] }) => [url.slice(dist.length), startOffset, count])
        .filter(([, offset, count]) => offset > 0 && count > 0)));
    });
    process.channel.unref();
    process.on('disconnect', () => process.kill(process.pid, 'SIGTERM'));
  }`;

const folder = await mkdtemp(join(tmpdir(), 'files-per-request-'));
// The embedded PostgreSQL runs as another user if this script runs as root.
await chmod(folder, 0o755);
const { privateKey, publicKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });
const key = { ...publicKey.export({ format: 'jwk' }), kid: 'k', alg: 'RS256' };
const issuer = await listening((_, response) => response.end(JSON.stringify({ keys: [key] })));
const repository = createRepository(join(folder, 'catalogue.git'));
const gitServer = await listening(serveGit);
const [origin, internal] = [`127.0.0.1:${await freePort()}`, `127.0.0.1:${await freePort()}`];
const service = await start();

const reader = tokenOf({ sub: 'reader', org: 'acme' });
const writer = tokenOf({ sub: 'writer', org: 'acme', role: 'writer' });
const admin = tokenOf({ sub: 'admin', org: 'acme', role: 'admin' });
const stranger = tokenOf({ sub: 'stranger', org: 'contoso' });
let published = 0;
const list = (token) => call(200, 'GET', '/registry/r/v0.1/servers', token);
const publish = (status, token) =>
  call(status, 'POST', '/v1/entries', token, {
    server: serverNamed(`com.example/published-${(published += 1)}`),
    claims: { org: 'acme' },
  });

/** Preparation that is not measured, the request itself, and how long its work may continue after the response. */
const REQUESTS = {
  'cold list': [() => publish(201, writer), () => list(reader)],
  'cold list, new token': [() => publish(201, writer), () => list(tokenOf({ sub: 'reader', org: 'acme' }))],
  'same list again': [() => list(reader), () => list(reader)],
  publish: [() => undefined, () => publish(201, writer)],
  'git sync': [commit, () => call(202, 'POST', '/v1/sources/git/sync', admin), SYNC_MS],
  '403 role_required': [() => undefined, () => publish(403, reader)],
  '403 registry_forbidden': [() => undefined, () => call(403, 'GET', '/registry/r/v0.1/servers', stranger)],
  '401 without a token': [() => undefined, () => call(401, 'GET', '/registry/r/v0.1/servers')],
  '401 garbage token': [() => undefined, () => call(401, 'GET', '/registry/r/v0.1/servers', 'garbage')],
  '401 wrong signature': [() => undefined, () => call(401, 'GET', '/registry/r/v0.1/servers', forged())],
};

try {
  const counts = {};
  for (const [name, request] of Object.entries(REQUESTS)) {
    const files = await filesOf(...request);
    counts[name] = files.length;
    if (values.names) process.stdout.write(`${name} (${files.length})\n${files.join('\n')}\n\n`);
  }
  const { sync } = await call(200, 'GET', '/v1/sources/git', admin);
  if (sync.status !== 'complete' || sync.counts.entries !== WARM_UPS + ROUNDS)
    throw new Error(`The git source did not sync in time: ${JSON.stringify(sync)}`);
  for (const [name, count] of Object.entries(counts))
    process.stdout.write(`${String(count).padStart(4)}  ${name}\n`);
} finally {
  if (service.exitCode === null) {
    service.kill('SIGTERM');
    await once(service, 'exit');
  }
  issuer.close();
  gitServer.close();
  await rm(folder, { recursive: true, force: true });
}

async function filesOf(prepare, request, settleMs = SETTLE_MS) {
  const functions = new Map();
  for (let round = -WARM_UPS; round < ROUNDS; round += 1) {
    await prepare();
    // A random pause keeps the rounds from synchronizing with polling.
    await pause(SETTLE_MS + 500 * Math.random());
    await coverage();
    const began = performance.now();
    await request();
    await pause(settleMs);
    const ms = performance.now() - began;
    const busy = await coverage();
    await pause(ms);
    const idle = await coverage();
    if (round < 0) continue;
    for (const [file, offset, calls] of busy) {
      const one = seen(functions, file, offset);
      one.rounds += 1;
      one.more += calls;
    }
    for (const [file, offset, calls] of idle) seen(functions, file, offset).more -= calls;
  }
  const needed = [...functions.values()].filter(
    ({ rounds, more }) => rounds >= ROUNDS - 1 && more > ROUNDS / 2,
  );
  return [...new Set(needed.map(({ file }) => file.replace(/\.js$/, '.ts')))].sort();
}

/** Counts the rounds in which a function ran, and its calls in excess of idle intervals. */
function seen(functions, file, offset) {
  const key = `${file}:${offset}`;
  if (!functions.has(key)) functions.set(key, { file, rounds: 0, more: 0 });
  return functions.get(key);
}

async function coverage() {
  service.send(`${pathToFileURL(DIST).href}/`);
  return (await once(service, 'message'))[0];
}

async function call(status, method, path, token, body) {
  const response = await fetch(`http://${origin}${path}`, {
    method,
    headers: {
      ...(token ? { Authorization: `Bearer ${token}` } : {}),
      ...(body ? { 'Content-Type': 'application/json' } : {}),
    },
    ...(body ? { body: JSON.stringify(body) } : {}),
  });
  const answer = await response.text();
  if (response.status !== status) throw new Error(`${method} ${path}: ${response.status} ${answer}`);
  return JSON.parse(answer);
}

async function start() {
  const provider = {
    ...{ name: 'p', issuerUrl: urlOf(issuer), jwksUrl: urlOf(issuer) },
    ...{ audience: 'registry', allowPrivateIP: true },
  };
  const roles = {
    manageSources: [{ role: 'admin' }],
    manageRegistries: [{ role: 'admin' }],
    manageEntries: [{ role: 'writer' }],
  };
  const file = join(folder, 'registry.yaml');
  const configuration = {
    auth: {
      mode: 'oauth',
      oauth: { resourceUrl: 'https://registry.example.com', providers: [provider] },
      authz: { roles },
    },
    sources: [
      { name: 'published', managed: {}, claims: { org: 'acme' } },
      {
        name: 'git',
        git: { repository: `${urlOf(gitServer)}/catalogue.git`, branch: 'main' },
        syncPolicy: { interval: '1h' },
        claims: { org: 'acme' },
      },
    ],
    registries: [{ name: 'r', sources: ['published', 'git'], claims: { org: 'acme' } }],
    shutdown: { notice: '0s' },
  };
  await writeFile(file, JSON.stringify(configuration));
  const preload = `data:text/javascript,${encodeURIComponent(PRELOAD)}`;
  const addresses = ['--address', origin, '--internal-address', internal];
  const child = spawn(
    process.execPath,
    ['--import', preload, join(DIST, 'main.js'), 'serve', '--config', file, ...addresses],
    {
      stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
      env: { ...process.env, REGISTRY_DATA_DIR: join(folder, 'data') },
    },
  );
  for (let tries = 0; tries < 300; tries += 1) {
    await pause(200);
    const response = await fetch(`http://${internal}/readiness`).catch(() => undefined);
    if (response?.ok) return child;
    if (child.exitCode !== null) break;
  }
  throw new Error('The service did not start');
}

function tokenOf(claims) {
  const encode = (part) => Buffer.from(JSON.stringify(part)).toString('base64url');
  const exp = Math.floor(Date.now() / 1_000) + 3_600;
  const payload = { iss: urlOf(issuer), aud: 'registry', exp, jti: randomUUID(), ...claims };
  const signed = `${encode({ alg: 'RS256', kid: 'k', typ: 'JWT' })}.${encode(payload)}`;
  return `${signed}.${sign('sha256', Buffer.from(signed), privateKey).toString('base64url')}`;
}

function forged() {
  const [header, , signature] = reader.split('.');
  const payload = Buffer.from(JSON.stringify({ iss: urlOf(issuer), aud: 'registry', exp: 9e9, sub: 'x' }));
  return `${header}.${payload.toString('base64url')}.${signature}`;
}

function serverNamed(name) {
  const $schema = 'https://static.modelcontextprotocol.io/schemas/2025-12-11/server.schema.json';
  return { $schema, name, description: 'A server', version: '1.0.0' };
}

function createRepository(directory) {
  execFileSync('git', ['init', '--quiet', '--bare', '--initial-branch=main', directory]);
  execFileSync('git', ['-C', directory, 'config', 'uploadpack.allowFilter', 'true']);
  return { directory, servers: [] };
}

/** Adds a commit with one more server. */
function commit() {
  const { directory, servers } = repository;
  const isFirst = servers.length === 0;
  servers.push(serverNamed(`com.example/git-${servers.length}`));
  const meta = { last_updated: '2026-01-01T00:00:00Z' };
  const file = JSON.stringify({ version: '1.0.0', meta, data: { servers } });
  const input = [
    'commit refs/heads/main\ncommitter Somebody <somebody@example.com> 1790000000 +0000\ndata 0\n',
    isFirst ? '' : 'from refs/heads/main^0\n',
    `M 100644 inline registry.json\ndata ${Buffer.byteLength(file)}\n${file}\ndone\n`,
  ];
  execFileSync('git', ['-C', directory, 'fast-import', '--quiet'], { input: input.join('') });
}

/** Serves the repository through `git http-backend`, a CGI program. */
function serveGit(request, response) {
  const { pathname, searchParams } = new URL(request.url, 'http://git');
  const child = spawn('git', ['http-backend'], {
    stdio: ['pipe', 'pipe', 'inherit'],
    env: {
      ...process.env,
      GIT_PROJECT_ROOT: folder,
      GIT_HTTP_EXPORT_ALL: '1',
      PATH_INFO: pathname,
      QUERY_STRING: searchParams.toString(),
      REQUEST_METHOD: request.method,
      CONTENT_TYPE: request.headers['content-type'] ?? '',
      HTTP_CONTENT_ENCODING: request.headers['content-encoding'] ?? '',
      GIT_PROTOCOL: request.headers['git-protocol'] ?? '',
    },
  });
  request.pipe(child.stdin);
  const chunks = [];
  child.stdout.on('data', (chunk) => chunks.push(chunk));
  child.on('close', () => {
    const output = Buffer.concat(chunks);
    const end = output.indexOf('\r\n\r\n');
    const lines = output.subarray(0, end).toString().split('\r\n');
    const headers = Object.fromEntries(lines.map((line) => line.split(': ')));
    response.writeHead(Number.parseInt(headers.Status ?? '200', 10), headers).end(output.subarray(end + 4));
  });
}

async function listening(listener) {
  const server = createServer(listener).listen(0, '127.0.0.1');
  await once(server, 'listening');
  return server;
}

function urlOf(server) {
  return `http://127.0.0.1:${server.address().port}`;
}

async function freePort() {
  const server = await listening();
  const { port } = server.address();
  server.close();
  return port;
}
