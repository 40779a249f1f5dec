import { isDeepStrictEqual } from 'node:util';
import { member } from '../json/json-values.js';
import { type Plain, plain } from '../json/plain.js';

/** How one setting of a source or registry is stored and shown. */
export interface Setting<Written> {
  /** The property of the entity that stores the setting. */
  readonly column: string;
  /** @param written undefined if the setting is absent. */
  readonly stored: (written: Written | undefined) => unknown;
  /** Returns the value as written, for responses and the audit trail; undefined to omit it. */
  readonly shown: (stored: never, origin: 'config' | 'api') => unknown;
}

/** The settings of a source or registry, by their names in the configuration. */
type Table = Readonly<Record<string, Setting<never>>>;

type Written<T extends Table> = { readonly [K in keyof T]?: Parameters<T[K]['stored']>[0] };

/** The settings of a table in their stored form: the properties of the entity. */
export type Stored<T extends Table> = {
  readonly [K in keyof T as T[K]['column']]: ReturnType<T[K]['stored']>;
};

type Shown<T extends Table> = { [K in keyof T]?: Exclude<ReturnType<T[K]['shown']>, undefined> };

/** A setting that is stored as written; null if absent. */
export function asWritten<Written>() {
  return {
    // Converts class instances to plain data without undefined members, which equals the data that the database
    // returns.
    stored: (written: Written | undefined) => (written === undefined ? null : plain(written)),
    shown: (stored: Plain<Written> | null) => stored ?? undefined,
  };
}

/** Converts validated settings into their stored form. */
export function toStored<T extends Table>(table: T, written: Written<T>): Stored<T> {
  const columns = Object.entries(table).map(([name, { column, stored }]) => [
    column,
    stored(member(written, name) as undefined),
  ]);
  return Object.fromEntries(columns) as Stored<T>;
}

/** Converts stored settings into the form shown in responses and in the audit trail. */
export function toShown<T extends Table>(table: T, row: Stored<T>, origin: 'config' | 'api'): Shown<T> {
  const settings = Object.entries(table)
    .map(([name, { column, shown }]) => [name, shown(member(row, column) as never, origin)] as const)
    .filter(([, value]) => value !== undefined);
  return Object.fromEntries(settings) as Shown<T>;
}

/** Picks the settings from a row or a declaration. */
export function storedIn<T extends Table>(table: T, row: Stored<T>): Stored<T> {
  const columns = Object.values(table).map(({ column }) => [column, member(row, column)]);
  return Object.fromEntries(columns) as Stored<T>;
}

/** Returns whether a row already has these values. */
export function hasColumns<Row extends object>(row: Row, columns: Partial<Row>): boolean {
  return Object.entries(columns).every(([column, value]) => isDeepStrictEqual(member(row, column), value));
}
