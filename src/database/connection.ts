/** How to reach one PostgreSQL; the names are those of node-postgres. A `host` beginning with "/" is a socket directory. */
export interface ConnectionConfig {
  readonly host: string;
  readonly port: number;
  readonly user: string;
  readonly database: string;
  readonly password?: string | undefined;
  readonly ssl?: false | object | undefined;
  /** Connections at most, in one process. */
  readonly poolMax: number;
}
