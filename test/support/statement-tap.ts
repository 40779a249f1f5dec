import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net';
import { join } from 'node:path';
import type { TestDatabase } from './database.js';

/**
 * A proxy between one service and PostgreSQL that records executed statements. PostgreSQL's `log_statement =
 * 'all'` would record the statements of all services.
 */
export class StatementTap {
  readonly statements: string[] = [];
  /** Row count of each result. */
  readonly answeredRows: number[] = [];
  private readonly server: Server;
  private readonly sockets = new Set<Socket>();
  /** Results of statements with this text are withheld. */
  private heldText: string | undefined;
  /** PostgreSQL connections with withheld results, and the client connections that wait for them. */
  private readonly held = new Map<Socket, Socket>();

  constructor({ host, port }: TestDatabase) {
    this.server = createServer((client) => {
      const database = host.startsWith('/')
        ? connect(join(host, `.s.PGSQL.${port}`))
        : connect({ host, port, noDelay: true });
      const asked = new FrontendMessages((statement) => {
        this.statements.push(statement);
        if (this.heldText === undefined || !statement.includes(this.heldText)) return;
        // It pauses without a destination.
        database.unpipe(client);
        this.held.set(database, client);
      });
      client.on('data', (chunk: Buffer) => asked.read(chunk));
      client.pipe(database);
      database.pipe(client);
      const answered = new BackendMessages((rows) => this.answeredRows.push(rows));
      database.on('data', (chunk: Buffer) => answered.read(chunk));
      database.on('close', () => this.held.delete(database));
      for (const [socket, other] of [
        [client, database],
        [database, client],
      ] as const) {
        this.sockets.add(socket);
        socket.on('error', () => other.destroy());
        socket.on('close', () => {
          this.sockets.delete(socket);
          other.destroy();
        });
      }
    });
  }

  /** @returns the port on 127.0.0.1 that leads to the database. */
  async listen(): Promise<number> {
    await new Promise<void>((done) => this.server.listen(0, '127.0.0.1', done));
    return (this.server.address() as AddressInfo).port;
  }

  /**
   * PostgreSQL keeps executing, but results of statements that contain this text are withheld until `release`. Other
   * statements, and new connections, get responses.
   */
  hold(text: string): void {
    this.heldText = text;
  }

  release(): void {
    this.heldText = undefined;
    for (const [database, client] of this.held) database.pipe(client);
    this.held.clear();
  }

  close(): void {
    this.server.close();
    for (const socket of this.sockets) socket.destroy();
  }
}

/** The messages of one direction (PostgreSQL manual, "Message Formats"). */
abstract class Messages {
  private buffer = Buffer.alloc(0);

  /** @param hasStarted whether the next message begins with a type byte. */
  constructor(private hasStarted: boolean) {}

  read(chunk: Buffer): void {
    this.buffer = Buffer.concat([this.buffer, chunk]);
    for (;;) {
      const head = this.hasStarted ? 1 : 0;
      if (this.buffer.length < head + 4) return;
      const end = head + this.buffer.readUInt32BE(head);
      if (this.buffer.length < end) return;
      if (this.hasStarted)
        this.record(String.fromCharCode(this.buffer[0] ?? 0), this.buffer.subarray(5, end));
      this.hasStarted = true;
      this.buffer = this.buffer.subarray(end);
    }
  }

  protected abstract record(type: string, body: Buffer): void;
}

/** Client messages that name statements. */
class FrontendMessages extends Messages {
  private readonly prepared = new Map<string, string>();

  constructor(private readonly onExecute: (statement: string) => void) {
    super(false);
  }

  protected override record(type: string, body: Buffer): void {
    const [first = '', second = ''] = body.toString('latin1').split('\0', 2);
    if (type === 'Q') this.onExecute(first);
    // Parse: name, statement. Bind: portal, statement name.
    if (type === 'P') this.prepared.set(first, second);
    if (type === 'B') this.onExecute(this.prepared.get(second) ?? '');
  }
}

/** Server messages that carry rows. */
class BackendMessages extends Messages {
  private rows = 0;

  constructor(private readonly onAnswer: (rows: number) => void) {
    super(true);
  }

  protected override record(type: string): void {
    if (type === 'D') this.rows += 1;
    // CommandComplete or ErrorResponse.
    if (type !== 'C' && type !== 'E') return;
    this.onAnswer(this.rows);
    this.rows = 0;
  }
}
