import pg from 'pg';

/**
 * A connection of the pool that survives its own end. The pool and TypeORM listen for errors in turns, and a connection
 * that is cut while it passes from one to the other would have nobody: the error would end the process. Whoever uses the
 * connection next is told, since the query fails.
 */
export class PoolClient extends pg.Client {
  constructor(config?: pg.ClientConfig) {
    super(config);
    this.on('error', () => undefined);
  }
}
