import { createServer, request as sendRequest, type Server } from 'node:http';
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';

/** The demo's provider accepts redirect URIs under this prefix. */
const PREFIX = '/registries';

/** A reverse proxy that serves a service under a prefix and strips it from requests. */
export class PrefixProxy {
  /** Requested paths outside the prefix. */
  readonly strays: string[] = [];
  private readonly server: Server;

  constructor(private readonly target: string) {
    this.server = createServer((request, response) => {
      const path = request.url ?? '/';
      if (path === PREFIX) {
        response.writeHead(308, { Location: `${PREFIX}/` }).end();
        return;
      }
      if (!path.startsWith(`${PREFIX}/`)) {
        this.strays.push(path);
        response.writeHead(404).end();
        return;
      }
      const { method, headers } = request;
      const forwarded = sendRequest(
        `${this.target}${path.slice(PREFIX.length)}`,
        { method, headers },
        (answer) => {
          response.writeHead(answer.statusCode ?? 502, answer.rawHeaders);
          answer.pipe(response);
        },
      );
      forwarded.on('error', () => response.destroy());
      request.pipe(forwarded);
    });
  }

  /** Returns the address including the prefix, without a trailing slash. */
  async start(): Promise<string> {
    await once(this.server.listen(0, '127.0.0.1'), 'listening');
    return `http://127.0.0.1:${(this.server.address() as AddressInfo).port}${PREFIX}`;
  }

  stop(): void {
    this.server.close();
    this.server.closeAllConnections();
  }
}
