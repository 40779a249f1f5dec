import { createServer, request as ask, type Server } from 'node:http';
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';

/** A prefix at which the demo's provider knows the page. */
const PREFIX = '/registries';

/** A proxy that puts a service below a prefix: it removes that, and passes everything else on as it came. */
export class PrefixProxy {
  /** Paths outside the prefix that were asked for. */
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
      const asked = ask(`${this.target}${path.slice(PREFIX.length)}`, { method, headers }, (answer) => {
        response.writeHead(answer.statusCode ?? 502, answer.rawHeaders);
        answer.pipe(response);
      });
      asked.on('error', () => response.destroy());
      request.pipe(asked);
    });
  }

  /** @returns the address of what is below the prefix, without a slash. */
  async start(): Promise<string> {
    await once(this.server.listen(0, '127.0.0.1'), 'listening');
    return `http://127.0.0.1:${(this.server.address() as AddressInfo).port}${PREFIX}`;
  }

  stop(): void {
    this.server.close();
    this.server.closeAllConnections();
  }
}
