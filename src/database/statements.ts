import { createHash } from 'node:crypto';
import { Injectable, Logger } from '@nestjs/common';
import { DataSource } from 'typeorm';
import { poolOf } from './connection-pool.js';

export type NamedValues = Readonly<Record<string, unknown>>;

/** A statement with numbered parameters. */
export interface BoundStatement {
  readonly text: string;
  readonly values: unknown[];
}

interface NumberedText {
  readonly text: string;
  /** Parameter names in the order of their numbers. */
  readonly names: readonly string[];
}

// Its size is bounded by the number of statements and combinations of conditions, since texts contain no request data.
const numberedTexts = new Map<string, NumberedText>();

/**
 * Converts named parameters (`$name`) to numbered ones (`$1`, `$2` …), numbered in order of first appearance. Values
 * without a parameter are ignored.
 *
 * @param text must not contain request data: it is cached forever.
 * @throws Error for a parameter without a value, which is a bug.
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
 * SQLSTATEs for prepared statements that do not match the connection: unknown, already prepared, or with changed
 * columns. Poolers without support for prepared statements cause these errors.
 */
const STALE_STATEMENT_STATES = new Set(['26000', '42P05', '0A000']);

/** Runs prepared statements, which PostgreSQL parses and plans once per connection. */
@Injectable()
export class PreparedStatements {
  private readonly logger = new Logger(PreparedStatements.name);
  private readonly names = new Map<string, string>();
  private isSupported = true;

  constructor(private readonly dataSource: DataSource) {}

  /**
   * Runs a statement outside any transaction and returns its rows. Each text stays prepared on each connection, so
   * variable data belongs in `values`.
   *
   * @throws errors from node-postgres or TypeORM.
   */
  async query<Rows>(text: string, values: unknown[]): Promise<Rows> {
    const pool = this.isSupported ? poolOf(this.dataSource) : undefined;
    if (pool)
      try {
        return (await pool.query({ name: this.nameOf(text), text, values })).rows as Rows;
      } catch (error) {
        this.giveUpIfStale(error);
      }
    return this.dataSource.query<Rows>(text, values);
  }

  /** Stops using prepared statements if the error shows that one was lost; throws any other. Another request may have noticed first. */
  private giveUpIfStale(error: unknown): void {
    if (!STALE_STATEMENT_STATES.has(String((error as { code?: unknown }).code))) throw error;
    if (!this.isSupported) return;
    this.isSupported = false;
    this.logger.warn(
      'PostgreSQL, or a connection pooler in front of it, does not support prepared statements: they are no longer used',
    );
  }

  // Names are hashes of the text, because several services may share one connection through a pooler.
  private nameOf(text: string): string {
    const known = this.names.get(text);
    if (known !== undefined) return known;
    const name = `registry_${createHash('sha256').update(text).digest('hex').slice(0, 40)}`;
    this.names.set(text, name);
    return name;
  }
}
