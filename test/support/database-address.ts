import { connect, createServer, type Server, type Socket } from 'node:net';
import { join } from 'node:path';
import { listen, portOf } from './loopback.js';

interface Target {
  /** A socket directory, or a host. */
  readonly host: string;
  readonly port: number;
}

/** A TCP address that leads to PostgreSQL servers, like a load balancer. */
export class DatabaseAddress {
  private readonly server: Server;
  private readonly pairs = new Map<Socket, Socket>();
  private targets: readonly Target[] = [];
  private connections = 0;
  private isFrozen = false;
  /** SQLSTATE for new connections, and how many are accepted before. */
  private refusal: { readonly state: string; accepted: number } | undefined;
  /** Number of refused connections. */
  refused = 0;

  constructor() {
    this.server = createServer((client) => this.forward(client));
  }

  listen(): Promise<void> {
    return listen(this.server);
  }

  get port(): number {
    return portOf(this.server);
  }

  /** Leads new connections to these servers in turn. Closes the existing ones. */
  leadTo(...targets: Target[]): void {
    this.targets = targets;
    for (const client of this.pairs.keys()) client.destroy();
  }

  /** Swallows all bytes in both directions until `thaw`; connections are still accepted. */
  freeze(): void {
    this.isFrozen = true;
    for (const [client, server] of this.pairs) {
      client.unpipe(server).resume();
      server.unpipe(client).resume();
    }
  }

  /** Forwards the bytes of new connections again. The existing ones have lost bytes and stay silent. */
  thaw(): void {
    this.isFrozen = false;
  }

  /** Refuses new connections with this SQLSTATE, after the next `accepted` ones, until `accept`. */
  refuse(state: string, accepted: number): void {
    this.refusal = { state, accepted };
    this.refused = 0;
  }

  accept(): void {
    this.refusal = undefined;
  }

  close(): void {
    this.leadTo();
    this.server.close();
  }

  private forward(client: Socket): void {
    const target = this.targets[this.connections % this.targets.length];
    this.connections += 1;
    client.on('error', () => undefined);
    if (!target) return void client.destroy();
    if (this.refusal && (this.refusal.accepted -= 1) < 0) {
      const error = errorResponse(this.refusal.state);
      this.refused += 1;
      return void client.once('data', () => client.end(error));
    }
    const { host, port } = target;
    const server = host.startsWith('/') ? connect(join(host, `.s.PGSQL.${port}`)) : connect(port, host);
    this.pairs.set(client, server);
    server.on('error', () => undefined).on('close', () => client.destroy());
    client.on('close', () => {
      this.pairs.delete(client);
      server.destroy();
    });
    if (this.isFrozen) {
      client.resume();
      server.resume();
    } else client.pipe(server).pipe(client);
  }
}

/** PostgreSQL manual, "Message Formats". */
function errorResponse(state: string): Buffer {
  const fields = Buffer.from(`SFATAL\0VFATAL\0C${state}\0Mrefused by the test\0\0`);
  const head = Buffer.from('E____');
  head.writeInt32BE(4 + fields.length, 1);
  return Buffer.concat([head, fields]);
}
