// Runs in a network namespace of its own (`unshare --net --mount`), with a public address on the loopback interface and a name
// server: starts the program there, lets upstreams redirect and name servers be silent, and prints what happened as JSON.
import { execFileSync, spawn } from 'node:child_process';
import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { join } from 'node:path';
import process from 'node:process';
import { setTimeout as sleep } from 'node:timers/promises';

const { program, folder, database, page, file } = JSON.parse(process.argv[2]);
const PUBLIC = '93.184.216.34';
const PRIVATE = '127.0.0.1';
const VICTIM = `http://${PRIVATE}:9000`;
const REGISTRY = `http://${PRIVATE}:8080`;

const run = (...command) =>
  execFileSync(command[0], command.slice(1), { stdio: ['ignore', 'ignore', 'inherit'] });
run('ip', 'link', 'set', 'lo', 'up');
run('ip', 'address', 'add', `${PUBLIC}/32`, 'dev', 'lo');
for (const [name, text] of [
  ['resolv.conf', `nameserver ${PRIVATE}\nsearch corp.test\noptions timeout:3 attempts:3\n`],
  ['hosts', `${PRIVATE} localhost\n${PRIVATE} in-hosts.example\n`],
]) {
  writeFileSync(join(folder, name), text);
  run('mount', '--bind', join(folder, name), `/etc/${name}`);
}

const NAMES = {
  'public.test': PUBLIC,
  'private.test': PRIVATE,
  'searched.corp.test': PRIVATE,
  'provider.test': PRIVATE,
};
/** Names below slow.test, for which the server never responds. */
const slow = new Set();
const names = createSocket('udp4');
names.on('message', (query, { port, address }) => {
  const labels = [];
  let at = 12;
  for (; query[at] !== 0; at += query[at] + 1)
    labels.push(query.toString('latin1', at + 1, at + 1 + query[at]));
  const name = labels.join('.').toLowerCase();
  if (name.endsWith('.slow.test')) return void slow.add(name);
  const isForAddress = query.readUInt16BE(at + 1) === 1;
  const found = isForAddress ? NAMES[name] : undefined;
  const head = Buffer.from(query.subarray(0, 12));
  head.writeUInt16BE(NAMES[name] ? 0x8180 : 0x8183, 2);
  head.writeUInt16BE(found ? 1 : 0, 6);
  head.writeUInt32BE(0, 8);
  const record = found
    ? Buffer.from([0xc0, 12, 0, 1, 0, 1, 0, 0, 0, 0, 0, 4, ...found.split('.').map(Number)])
    : Buffer.alloc(0);
  names.send(Buffer.concat([head, query.subarray(12, at + 5), record]), port, address);
});
names.bind(53, PRIVATE);

const listening = (port, address, listener) =>
  once(createServer(listener).listen(port, address), 'listening');
/** Redirects to the victim. */
const redirect = ({ url }, response) => void response.writeHead(302, { Location: VICTIM + url }).end();
await listening(80, PUBLIC, redirect);
await listening(80, PRIVATE, redirect);
await listening(9000, PRIVATE, ({ url }, response) => {
  if (url.includes('/v0.1/x/')) response.statusCode = 404;
  response.end(url.includes('registry.json') ? file : page);
});
await listening(7000, PRIVATE, (request, response) => {
  // A kept connection would need no name.
  response.setHeader('Connection', 'close');
  response.setHeader('Content-Type', 'application/json');
  const base = 'http://provider.test:7000';
  if (request.url.startsWith('/introspect'))
    response.end(JSON.stringify({ active: true, aud: 'registry', sub: 'a' }));
  else if (request.url.startsWith('/jwks')) response.end('{"keys":[]}');
  else
    response.end(
      JSON.stringify({
        issuer: base,
        jwks_uri: `${base}/jwks`,
        introspection_endpoint: `${base}/introspect`,
      }),
    );
  request.resume();
});

const provider = {
  name: 'provider',
  issuerUrl: 'http://provider.test:7000',
  introspectionUrl: 'http://provider.test:7000/introspect',
  audience: 'registry',
  allowPrivateIP: true,
};
const configuration = {
  auth: { mode: 'oauth', oauth: { resourceUrl: 'https://registry.example.com', providers: [provider] } },
  sources: [
    { name: 'public-name', api: { endpoint: 'http://public.test' } },
    { name: 'public-address', api: { endpoint: `http://${PUBLIC}` } },
    { name: 'public-file', file: { url: 'http://public.test/registry.json' } },
    { name: 'private-name', api: { endpoint: 'http://private.test' } },
    { name: 'private-address', api: { endpoint: `http://${PRIVATE}` } },
    { name: 'searched', api: { endpoint: 'http://searched' } },
    { name: 'in-hosts', api: { endpoint: 'http://in-hosts.example' } },
  ].map((source) => ({ ...source, syncPolicy: { interval: '1h' } })),
  registries: [],
  database,
};
writeFileSync(join(folder, 'registry.yaml'), JSON.stringify(configuration));
const args = ['serve', '--config', join(folder, 'registry.yaml'), '--address', `${PRIVATE}:8080`];
const server = spawn(process.execPath, [program, ...args, '--internal-address', `${PRIVATE}:8081`], {
  env: { PATH: process.env.PATH, REGISTRY_INSECURE_URLS: 'true', REGISTRY_SHUTDOWN_NOTICE: '0s' },
  stdio: ['ignore', 'pipe', 'inherit'],
});
let log = '';
server.stdout.on('data', (chunk) => (log += chunk));
const ended = once(server, 'close');
let tokens = 0;
const call = (path, options = {}) =>
  fetch(REGISTRY + path, {
    ...options,
    headers: { authorization: `Bearer opaque-${(tokens += 1)}`, ...options.headers },
  });
const until = async (holds) => {
  while (!(await holds())) {
    if (server.exitCode !== null) throw new Error(`The program ended:\n${log}`);
    await sleep(50);
  }
};
await until(() => log.includes('"Ready"'));

const sources = {};
for (const { name } of configuration.sources)
  await until(async () => {
    const { sync } = await (await call(`/v1/sources/${name}`)).json();
    sources[name] = { status: sync?.status, error: sync?.error ?? null };
    return ['complete', 'failed'].includes(sync?.status);
  });

for (let n = 0; n < 8; n += 1)
  await call(`/v1/sources/slow-${n}`, {
    method: 'PUT',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ api: { endpoint: `http://n${n}.slow.test` }, syncPolicy: { interval: '1h' } }),
  });
await until(() => slow.size >= 2);
const statuses = [];
for (let n = 0; n < 5; n += 1) statuses.push((await call('/v1/me')).status);

process.stdout.write(JSON.stringify({ sources, statuses }));
server.kill('SIGTERM');
await ended;
process.exit(0);
