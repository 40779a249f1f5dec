import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import {
  createServer,
  type IncomingMessage,
  type RequestListener,
  type Server,
  type ServerResponse,
} from 'node:http';
import { createServer as createSecureServer } from 'node:https';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll } from 'vitest';
import type { Certificates } from './certificates.js';
import { GitRepository } from './git-repository.js';
import { close, listen, portOf } from './loopback.js';

/** Responds to a request itself, without git. */
export type Misbehave = (request: IncomingMessage, response: ServerResponse) => void;

/** Serves repositories: `git http-backend` behind Node's HTTP server. */
export function aGitServer(): GitServer {
  return new GitServer();
}

export class GitServer {
  /** `GET /acme.git/info/refs` and the like, in order. */
  readonly requests: string[] = [];
  /** Total bytes of all response bodies. */
  sentBytes = 0;
  /** The account allowed to read; absent: no authentication. */
  account: { username: string; password: string } | undefined;
  injectFault: Misbehave | undefined;
  private readonly root = mkdtempSync(join(tmpdir(), 'git-server-'));
  private readonly backend = join(
    execFileSync('git', ['--exec-path'], { encoding: 'utf8' }).trim(),
    'git-http-backend',
  );
  private server: Server | undefined;
  private certificates: Certificates | undefined;

  runs(): this {
    beforeAll(() => this.start());
    afterAll(() => this.stop());
    return this;
  }

  /** Enables TLS with this certificate. */
  secure(certificates: Certificates): this {
    this.certificates = certificates;
    return this;
  }

  async start(): Promise<void> {
    const listener: RequestListener = (request, response) => this.answer(request, response);
    this.server = this.certificates
      ? createSecureServer(this.certificates, listener)
      : createServer(listener);
    await listen(this.server);
  }

  async stop(): Promise<void> {
    if (this.server) await close(this.server);
    await rm(this.root, { recursive: true, force: true });
  }

  /** Creates an empty repository. */
  repository(name: string, objectFormat: 'sha1' | 'sha256' = 'sha1'): GitRepository {
    return GitRepository.create(join(this.root, `${name}.git`), objectFormat);
  }

  url(name: string): string {
    return `${this.certificates ? 'https' : 'http'}://127.0.0.1:${this.port}/${name}.git`;
  }

  get port(): number {
    return this.server ? portOf(this.server) : 0;
  }

  /** Number of open connections. */
  async connections(): Promise<number> {
    const { server } = this;
    if (!server) return 0;
    return new Promise((resolve, reject) => {
      server.getConnections((error, count) => (error ? reject(error) : resolve(count)));
    });
  }

  /** Returns and clears the recorded requests. */
  takeRequests(): string[] {
    return this.requests.splice(0);
  }

  private answer(request: IncomingMessage, response: ServerResponse): void {
    const { pathname, searchParams } = new URL(request.url ?? '/', 'http://git');
    this.requests.push(`${request.method} ${pathname}`);
    if (this.injectFault) return this.injectFault(request, response);
    if (!this.mayRead(request))
      return void response.writeHead(401, { 'WWW-Authenticate': 'Basic realm="git"' }).end();
    const child = spawn(this.backend, [], {
      stdio: ['pipe', 'pipe', 'ignore'],
      env: {
        PATH: process.env['PATH'],
        GIT_PROJECT_ROOT: this.root,
        GIT_HTTP_EXPORT_ALL: '1',
        GIT_CONFIG_NOSYSTEM: '1',
        PATH_INFO: pathname,
        QUERY_STRING: searchParams.toString(),
        REQUEST_METHOD: request.method,
        CONTENT_TYPE: request.headers['content-type'],
        HTTP_CONTENT_ENCODING: request.headers['content-encoding'],
        GIT_PROTOCOL: String(request.headers['git-protocol'] ?? ''),
      },
    });
    child.stdin.on('error', () => undefined);
    request.pipe(child.stdin);
    response.on('close', () => child.kill());
    void this.relay(child.stdout, response).catch(() => response.destroy());
  }

  /** Relays a CGI response: headers, an empty line, the body. */
  private async relay(output: AsyncIterable<Buffer>, response: ServerResponse): Promise<void> {
    let head = Buffer.alloc(0);
    let started = false;
    for await (const chunk of output) {
      let body = chunk;
      if (!started) {
        head = Buffer.concat([head, chunk]);
        const end = head.indexOf('\r\n\r\n');
        if (end < 0) continue;
        const headers = head
          .subarray(0, end)
          .toString()
          .split('\r\n')
          .map((line) => line.split(': ') as [string, string]);
        const status = headers.find(([name]) => name === 'Status')?.[1] ?? '200';
        response.writeHead(Number.parseInt(status, 10), headers.filter(([name]) => name !== 'Status').flat());
        body = head.subarray(end + 4);
        started = true;
      }
      this.sentBytes += body.length;
      if (!response.write(body)) await once(response, 'drain');
    }
    response.end();
  }

  private mayRead({ headers }: IncomingMessage): boolean {
    if (!this.account) return true;
    const { username, password } = this.account;
    return headers.authorization === `Basic ${Buffer.from(`${username}:${password}`).toString('base64')}`;
  }
}
