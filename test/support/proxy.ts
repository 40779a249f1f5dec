import { createServer, type IncomingMessage, request, type Server, type ServerResponse } from 'node:http';
import { connect, type Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { afterAll, beforeAll } from 'vitest';
import { listen, portOf } from './loopback.js';
import { keepSecret } from './secrets.js';

/**
 * Describes a proxy on 127.0.0.1; `runs()` starts it before the tests of the file and stops it after them.
 */
export function aProxy(account?: { username: string; password: string }): Proxy {
  return new Proxy(account);
}

/** Forwards http:// requests and tunnels all others. Resolves every name to 127.0.0.1. */
export class Proxy {
  /** `GET http://host:port/path` or `CONNECT host:port`, in order. */
  readonly requests: string[] = [];
  /** Refuses every request with this status. */
  status: number | undefined;
  private readonly sockets = new Set<Socket>();
  private readonly server: Server;

  constructor(private readonly account?: { username: string; password: string }) {
    this.server = createServer((asked, response) => this.forward(asked, response));
    this.server.on('connect', (asked: IncomingMessage, client: Duplex) => this.tunnel(asked, client));
    this.server.on('connection', (socket: Socket) => this.sockets.add(socket));
    if (account) keepSecret(account.password);
    if (account) keepSecret(Buffer.from(`${account.username}:${account.password}`).toString('base64'));
  }

  runs(): this {
    beforeAll(() => listen(this.server));
    afterAll(() => {
      this.server.close();
      for (const socket of this.sockets) socket.destroy();
    });
    return this;
  }

  get host(): string {
    return `127.0.0.1:${portOf(this.server)}`;
  }

  /** The URL as written in an environment variable. */
  get url(): string {
    const { username = '', password = '' } = this.account ?? {};
    const [user, secret] = [username, password].map(encodeURIComponent);
    return `http://${this.account ? `${user}:${secret}@` : ''}${this.host}`;
  }

  /** Returns and clears the recorded requests. */
  takeRequests(): string[] {
    return this.requests.splice(0);
  }

  private refusal({ headers }: IncomingMessage): number | undefined {
    const { username, password } = this.account ?? {};
    const expected = `Basic ${Buffer.from(`${username}:${password}`).toString('base64')}`;
    if (this.account && headers['proxy-authorization'] !== expected) return 407;
    return this.status;
  }

  private forward(asked: IncomingMessage, response: ServerResponse): void {
    const { method = '', url = '', headers } = asked;
    this.requests.push(`${method} ${url}`);
    const refusal = this.refusal(asked) ?? (URL.canParse(url) ? undefined : 400);
    if (refusal !== undefined) return void response.writeHead(refusal).end();
    const { port, pathname, search } = new URL(url);
    const forwarded = Object.fromEntries(
      Object.entries(headers).filter(([name]) => !name.startsWith('proxy-')),
    );
    const outgoing = request(
      {
        host: '127.0.0.1',
        port: port || 80,
        method,
        path: pathname + search,
        headers: forwarded,
        agent: false,
      },
      (answer) => {
        response.writeHead(answer.statusCode ?? 502, answer.headers);
        answer.pipe(response);
      },
    );
    outgoing.on('error', () => response.destroy());
    asked.pipe(outgoing);
  }

  private tunnel(asked: IncomingMessage, client: Duplex): void {
    const { url = '' } = asked;
    this.requests.push(`CONNECT ${url}`);
    client.on('error', () => client.destroy());
    const refusal = this.refusal(asked);
    if (refusal !== undefined) return void client.end(`HTTP/1.1 ${refusal} Refused\r\n\r\n`);
    const server = connect(Number(url.split(':').at(-1)), '127.0.0.1', () => {
      client.write('HTTP/1.1 200 Connected\r\n\r\n');
      server.pipe(client);
      client.pipe(server);
    });
    server.on('error', () => client.destroy());
  }
}
