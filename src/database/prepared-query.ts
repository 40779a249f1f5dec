import pg from 'pg';

type RowParser = (values: readonly (string | null)[]) => object;

/** The parts of node-postgres that its types lack. */
interface Internals {
  name: string;
  _accumulateRows: boolean;
  readonly _result: { parseRow: RowParser };
  prepare(connection: object): void;
  handleRowDescription(message: { readonly fields: readonly pg.FieldDef[] }): void;
}

const NodePostgresQuery = pg.Query as unknown as new (
  text: string,
  values: unknown[],
) => pg.Submittable & Internals;

/** A connection on which a prepared statement may have been described. */
interface Described {
  /** The connection, except that it does not ask for descriptions. */
  readonly silent: object;
  /** By statement name. */
  readonly parsers: Map<string, RowParser>;
}

const described = new WeakMap<object, Described>();

/**
 * A prepared statement whose rows PostgreSQL describes only when it is first sent over a connection. The rows of a prepared
 * statement never change: PostgreSQL refuses it instead.
 */
export class PreparedQuery extends NodePostgresQuery {
  private connection: object | undefined;

  constructor(name: string, text: string, values: unknown[]) {
    // node-postgres would copy an object with its property descriptors.
    super(text, values);
    this.name = name;
  }

  /** Runs it on a connection of the pool. */
  on(pool: pg.Pool): Promise<pg.QueryResult> {
    return pool.query(this) as unknown as Promise<pg.QueryResult>;
  }

  override prepare(connection: object): void {
    const known = described.get(connection);
    const parser = known?.parsers.get(this.name);
    if (known && parser) {
      this._accumulateRows = true;
      this._result.parseRow = parser;
      super.prepare(known.silent);
      return;
    }
    this.connection = connection;
    super.prepare(connection);
  }

  override handleRowDescription(message: { readonly fields: readonly pg.FieldDef[] }): void {
    super.handleRowDescription(message);
    if (!this.connection) return;
    let known = described.get(this.connection);
    if (!known) {
      const silent = Object.create(this.connection, { describe: { value: () => undefined } }) as object;
      described.set(this.connection, (known = { silent, parsers: new Map() }));
    }
    known.parsers.set(this.name, rowParser(message.fields));
  }
}

function rowParser(fields: readonly pg.FieldDef[]): RowParser {
  const columns = fields.map(({ name, dataTypeID }) => ({
    name,
    parse: pg.types.getTypeParser(dataTypeID, 'text'),
  }));
  return (values) => {
    if (values.length !== columns.length)
      throw new Error('PostgreSQL changed the columns of a prepared statement');
    const row: Record<string, unknown> = {};
    let at = 0;
    for (const { name, parse } of columns) {
      const value = values[at] ?? null;
      row[name] = value === null ? null : (parse(value) as unknown);
      at += 1;
    }
    return row;
  };
}
