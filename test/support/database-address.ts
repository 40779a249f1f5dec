import { connect, createServer, type Server, type Socket } from 'node:net';
import { join } from 'node:path';
import { listen, portOf } from './loopback.js';

/** A TCP address that leads to PostgreSQL servers, given by their socket directories, like a load balancer. */
export class DatabaseAddress {
  private readonly server: Server;
  private readonly pairs = new Map<Socket, Socket>();
  private directories: readonly string[] = [];
  private connections = 0;
  private isFrozen = false;

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
  leadTo(...directories: string[]): void {
    this.directories = directories;
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

  close(): void {
    this.leadTo();
    this.server.close();
  }

  private forward(client: Socket): void {
    const directory = this.directories[this.connections % this.directories.length];
    this.connections += 1;
    client.on('error', () => undefined);
    if (directory === undefined) return void client.destroy();
    const server = connect(join(directory, '.s.PGSQL.5432'));
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
