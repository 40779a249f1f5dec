// Load balancers in front of two replicas: one that polls readiness, and nginx as in deploy/proxies.
import { spawn } from 'node:child_process';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import http from 'node:http';
import { join } from 'node:path';
import { setInterval, clearInterval } from 'node:timers';
import { freePort, ROOT, until } from './programs.mjs';

/**
 * Rotates over the replicas that were ready at the last poll, or over all if none was. Never retries: a failed
 * request gets 502.
 */
export async function pollingBalancer(replicas, periodMs) {
  const backends = replicas.map((replica) => ({
    replica,
    isReady: true,
    agent: new http.Agent({ keepAlive: true }),
  }));
  let turn = 0;
  const look = async (backend) => void (backend.isReady = await backend.replica.isReady().catch(() => false));
  const timer = setInterval(() => backends.forEach(look), periodMs);
  const server = http.createServer((request, response) => {
    const ready = backends.filter(({ isReady, replica }) => isReady && !replica.isOut);
    const list = ready.length > 0 ? ready : backends;
    const { replica, agent } = list[turn++ % list.length];
    const { method, url: path, headers } = request;
    response.setHeader('X-Replica', replica.main);
    const sent = http.request(
      { host: '127.0.0.1', port: replica.port, method, path, headers, agent },
      (answer) => {
        response.writeHead(answer.statusCode);
        answer.pipe(response).on('error', () => response.destroy());
        answer.on('error', () => response.destroy());
      },
    );
    sent.on('error', ({ message }) =>
      response.headersSent ? response.destroy() : response.writeHead(502).end(message),
    );
    request.pipe(sent);
  });
  server.keepAliveTimeout = 60_000;
  const port = await freePort();
  await new Promise((done) => server.listen(port, '127.0.0.1', done));
  const close = () => {
    clearInterval(timer);
    server.close();
    server.closeAllConnections();
    for (const { agent } of backends) agent.destroy();
  };
  return { port, close };
}

/** Starts nginx with the configuration from deploy/proxies, except for addresses, TLS, logs and the rate limit. */
export async function nginx(replicas, folder) {
  const shipped = await readFile(join(ROOT, 'deploy/proxies/nginx.conf'), 'utf8');
  const port = await freePort();
  const directory = join(folder, 'nginx');
  await mkdir(directory, { mode: 0o777 });
  let place = 0;
  const site = shipped
    .replace('listen 443 ssl;', `listen 127.0.0.1:${port};`)
    .replace(/ +(?:ssl_certificate|access_log|error_log|limit_req).*\n/g, '')
    .replace(/server registry-\d\.internal:8080/g, () => `server 127.0.0.1:${replicas[place++].port}`)
    .replace('location / {', 'location / {\n add_header X-Replica $upstream_addr always;');
  const paths = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'].map(
    (one) => `${one}_temp_path ${directory}/${one};`,
  );
  const file = join(directory, 'nginx.conf');
  await writeFile(
    file,
    `daemon off; worker_processes 1; pid ${directory}/pid; error_log ${directory}/error.log info;
events { worker_connections 1024; }
http { access_log off; ${paths.join(' ')}
${site} }`,
  );
  const child = spawn('nginx', ['-c', file, '-p', directory, '-e', `${directory}/error.log`], {
    stdio: 'inherit',
  });
  await until('nginx answers', () =>
    globalThis.fetch(`http://127.0.0.1:${port}/registry`).then(({ ok }) => ok),
  );
  const close = async () => {
    const ended = new Promise((done) => child.once('exit', done));
    child.kill('SIGTERM');
    await ended;
  };
  return { port, close };
}
