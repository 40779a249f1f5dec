import type { Pool } from 'pg';
import type { DataSource } from 'typeorm';

/** The pool of node-postgres below a data source; undefined while it is not connected. */
export function poolOf({ driver }: DataSource): Pool | undefined {
  const { master } = (driver ?? {}) as { readonly master?: Pool };
  return master;
}
