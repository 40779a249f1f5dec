import { Gauge } from 'prom-client';
import type { PoolUse } from '../database/connection.js';
import type { Metrics } from './metrics.js';

const POOL = 'db_client_connection_pool_name';

/** Metrics of the pools of connections to PostgreSQL, read at each scrape. Names and labels are those of OpenTelemetry's conventions. */
export function observePools({ register }: Metrics, pools: () => Readonly<Record<string, PoolUse>>): void {
  const registers = [register];
  const each = (set: (pool: string, use: PoolUse) => void) => () => {
    for (const [name, use] of Object.entries(pools())) set(name, use);
  };
  const count = new Gauge({
    name: 'db_client_connection_count',
    help: 'Open connections to PostgreSQL, in use and idle',
    labelNames: [POOL, 'db_client_connection_state'],
    registers,
    collect: each((pool, { idle, used }) => {
      count.set({ [POOL]: pool, db_client_connection_state: 'idle' }, idle);
      count.set({ [POOL]: pool, db_client_connection_state: 'used' }, used);
    }),
  });
  const max = new Gauge({
    name: 'db_client_connection_max',
    help: 'How many connections to PostgreSQL there may be',
    labelNames: [POOL],
    registers,
    collect: each((pool, use) => max.set({ [POOL]: pool }, use.max)),
  });
  const waiting = new Gauge({
    name: 'db_client_connection_pending_requests',
    help: 'What waits for a connection to PostgreSQL',
    labelNames: [POOL],
    registers,
    collect: each((pool, use) => waiting.set({ [POOL]: pool }, use.waiting)),
  });
}
