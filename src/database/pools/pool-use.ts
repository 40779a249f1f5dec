import type { Pool } from 'pg';
import type { DataSource } from 'typeorm';

/** How much of a pool of connections is in use. */
export interface PoolUse {
  readonly max: number;
  readonly idle: number;
  readonly used: number;
  /** What waits for a connection. */
  readonly waiting: number;
}

export function useOf({ options, totalCount, idleCount, waitingCount }: Pool): PoolUse {
  return { max: options.max, idle: idleCount, used: totalCount - idleCount, waiting: waitingCount };
}

/** The pool of node-postgres below a data source; undefined while it is not connected. */
export function poolOf({ driver }: DataSource): Pool | undefined {
  const { master } = (driver ?? {}) as { readonly master?: Pool };
  return master;
}
