import { setImmediate as afterCallbacks } from 'node:timers/promises';
import pg from 'pg';

/** A connection of node-postgres, whose types lack these members. */
interface Connection {
  readonly stream: { cork(): void; uncork(): void };
  /** By name: statements that are sent, but not parsed yet. */
  readonly submittedNamedStatements: Record<string, string>;
  sync(): void;
}

type Handler = (message: unknown, connection: Connection) => void;

/** A node-postgres query. Its types lack what a client calls. */
interface Query {
  readonly name?: string;
  readonly text: string;
  submit(connection: Connection): Error | null;
  handleRowDescription: Handler;
  handleDataRow: Handler;
  handleCommandComplete: Handler;
  handleReadyForQuery(connection: Connection): void;
  handleError(error: unknown, connection: Connection): void;
}

const QueryOf = pg.Query as unknown as new (
  config: pg.QueryConfig & { queryMode: 'extended' },
  done: (error: unknown, result?: pg.QueryResult) => void,
) => Query;

/**
 * Statements for `client.query` that PostgreSQL receives and answers at once: they share one Sync message (PostgreSQL
 * documentation §54.2.3). PostgreSQL runs them in order; after one that fails, it skips the rest.
 */
export class StatementBatch implements pg.Submittable {
  private readonly queries: Query[] = [];
  /** The number of queries that PostgreSQL has run. */
  private completed = 0;
  private error: unknown;

  /** Adds a statement. @returns its result, once PostgreSQL has run all statements or one has failed. */
  add(config: pg.QueryConfig): Promise<pg.QueryResult> {
    return new Promise((resolve, reject) => {
      const done = (error: unknown, result?: pg.QueryResult) => {
        if (result) return resolve(result);
        this.error ??= error;
        reject(this.error as Error);
      };
      // Without name and values, node-postgres would send a simple query, and the answer to it would end the batch.
      this.queries.push(new QueryOf({ ...config, queryMode: 'extended' }, done));
    });
  }

  run(client: pg.ClientBase): void {
    client.query(this);
  }

  // The client notes the statement with these as parsed.
  get name(): string | undefined {
    return this.current?.name;
  }

  get text(): string | undefined {
    return this.current?.text;
  }

  private get current(): Query | undefined {
    return this.queries[this.completed];
  }

  submit(sending: pg.Connection): void {
    const connection = sending as unknown as Connection;
    const withoutSync = Object.create(connection, { sync: { value: () => undefined } }) as Connection;
    connection.stream.cork();
    for (const query of this.queries) {
      const error = query.submit(withoutSync);
      if (error) query.handleError(error, connection);
      // Without the rest, which may commit.
      if (this.error !== undefined) break;
    }
    connection.sync();
    connection.stream.uncork();
  }

  handleRowDescription(message: unknown, connection: Connection): void {
    this.current?.handleRowDescription(message, connection);
  }

  handleDataRow(message: unknown, connection: Connection): void {
    this.current?.handleDataRow(message, connection);
  }

  handleCommandComplete(message: unknown, connection: Connection): void {
    this.current?.handleCommandComplete(message, connection);
    this.completed += 1;
  }

  handleReadyForQuery(connection: Connection): void {
    if (this.error !== undefined) return this.rejectRest(connection);
    for (const query of this.queries) query.handleReadyForQuery(connection);
  }

  handleError(error: unknown, connection: Connection): void {
    this.error ??= error;
    // PostgreSQL has not parsed these.
    for (const { name } of this.queries.slice(this.completed))
      if (name !== undefined) Reflect.deleteProperty(connection.submittedNamedStatements, name);
    for (const query of this.queries.slice(0, this.completed)) query.handleReadyForQuery(connection);
    this.current?.handleError(error, connection);
    this.rejectRest(connection);
  }

  // Later: code that waits for all statements should first get what the sender of the failed one makes of its error.
  private rejectRest(connection: Connection): void {
    setImmediate(() => {
      for (const query of this.queries) query.handleError(this.error, connection);
    });
  }
}

interface Waiting {
  readonly statement: pg.QueryConfig;
  readonly resolve: (result: pg.QueryResult) => void;
  readonly reject: (error: unknown) => void;
}

/** Like a StatementBatch, but each statement is sent after the answer to the one before, so that each has a span in a trace. */
export class StatementSequence {
  private readonly waiting: Waiting[] = [];

  /** Adds a statement. @returns its result. */
  add(statement: pg.QueryConfig): Promise<pg.QueryResult> {
    return new Promise((resolve, reject) => this.waiting.push({ statement, resolve, reject }));
  }

  async run(client: pg.ClientBase): Promise<void> {
    for (let next = this.waiting.shift(); next; next = this.waiting.shift())
      try {
        next.resolve(await client.query(next.statement));
      } catch (error) {
        next.reject(error);
        // See `StatementBatch.rejectRest`.
        await afterCallbacks();
        for (const { reject } of this.waiting.splice(0)) reject(error);
      }
  }
}
