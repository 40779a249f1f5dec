import type { Pool } from 'pg';

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
