import { createHash } from 'node:crypto';
import { Injectable, Logger } from '@nestjs/common';
import { DataSource } from 'typeorm';
import { poolOf } from './connection.js';

/** Values by the names that a statement has for them. */
export type NamedValues = Readonly<Record<string, unknown>>;

/** A statement as PostgreSQL takes it. */
export interface BoundStatement {
  readonly text: string;
  readonly values: unknown[];
}

interface NumberedText {
  readonly text: string;
  /** The names of the parameters, in the order of their numbers. */
  readonly names: readonly string[];
}

// As many as there are statements and combinations of conditions: nothing of a request is ever in a text.
const numberedTexts = new Map<string, NumberedText>();

/**
 * Numbers the parameters of a statement. They are written `$name`, which reads better, and are sent as `$1`, `$2` … in the order
 * in which they first appear, so that the numbers depend on the text alone. Values that it does not name are left out.
 *
 * @param text made without anything that comes from a request: it is cached for good.
 * @throws Error for a name without a value: a mistake in the statement.
 */
export function bind(text: string, named: NamedValues): BoundStatement {
  let numbered = numberedTexts.get(text);
  if (!numbered) {
    numbered = numberNames(text);
    numberedTexts.set(text, numbered);
  }
  const values = numbered.names.map((name) => {
    if (!Object.hasOwn(named, name)) throw new Error(`The statement has no value for $${name}`);
    return named[name];
  });
  return { text: numbered.text, values };
}

function numberNames(text: string): NumberedText {
  const numbers = new Map<string, number>();
  const numbered = text.replaceAll(/\$([a-zA-Z]+)/g, (_, name: string) => {
    const number = numbers.get(name) ?? numbers.size + 1;
    numbers.set(name, number);
    return `$${number}`;
  });
  return { text: numbered, names: [...numbers.keys()] };
}

/**
 * SQLSTATEs of a connection on which a statement is not, or no longer, what it was prepared as: unknown there, prepared already,
 * or with other columns than before. For example behind a pooler that shares connections regardless of prepared statements.
 */
const STALE_STATEMENT_STATES = new Set(['26000', '42P05', '0A000']);

/** Runs statements that are sent again and again: PostgreSQL parses and plans each of them once per connection. */
@Injectable()
export class PreparedStatements {
  private readonly logger = new Logger(PreparedStatements.name);
  private readonly names = new Map<string, string>();
  private isSupported = true;

  constructor(private readonly dataSource: DataSource) {}

  /**
   * The rows of a statement outside any transaction. Every text stays prepared on each connection for good, so there must not be
   * many of them: what varies belongs in the values.
   *
   * @throws what node-postgres throws, or TypeORM.
   */
  async query<Rows>(text: string, values: unknown[]): Promise<Rows> {
    const pool = poolOf(this.dataSource);
    if (!this.isSupported || !pool) return this.dataSource.query<Rows>(text, values);
    try {
      return (await pool.query({ name: this.nameOf(text), text, values })).rows as Rows;
    } catch (error) {
      if (!STALE_STATEMENT_STATES.has(String((error as { code?: unknown }).code))) throw error;
      this.isSupported = false;
      this.logger.warn(
        'PostgreSQL, or a connection pooler in front of it, does not keep prepared statements: they are no longer used',
      );
      return this.dataSource.query<Rows>(text, values);
    }
  }

  // Made from the text: behind a pooler, equal names of several services have to mean the same.
  private nameOf(text: string): string {
    const known = this.names.get(text);
    if (known !== undefined) return known;
    const name = `registry_${createHash('sha256').update(text).digest('hex').slice(0, 40)}`;
    this.names.set(text, name);
    return name;
  }
}
