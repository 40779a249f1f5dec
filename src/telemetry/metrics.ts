import {
  collectDefaultMetrics,
  Gauge,
  type MetricObjectWithValues,
  type MetricValue,
  Registry,
} from 'prom-client';
import type { PoolUse } from '../database/connection.js';

/**
 * The metrics of one service, for Prometheus. Each service has its own registry: prom-client's global one would mix those of
 * several services in a process.
 */
export class Metrics {
  readonly register = new Registry();
  private readonly refreshers: (() => Promise<void>)[] = [];

  /** Adds those of the process: event loop, memory, garbage collection. They can't be removed again. */
  withProcess(): this {
    collectDefaultMetrics({ register: this.register });
    return this;
  }

  /** Says which build this is: always 1, to be joined with other metrics. */
  withBuild({ version, commit }: { readonly version: string; readonly commit: string }): this {
    const build = new Gauge({
      name: 'registry_build_info',
      help: 'The build that runs; always 1',
      labelNames: ['version', 'commit', 'node_version'],
      registers: [this.register],
    });
    build.set({ version, commit, node_version: process.version }, 1);
    return this;
  }

  /** Runs this before each scrape, for metrics that are read from elsewhere. It must not reject, nor take long. */
  refreshBy(refresh: () => Promise<void>): void {
    this.refreshers.push(refresh);
  }

  /** All metrics in Prometheus' text format. */
  async exposition(): Promise<{ readonly contentType: string; readonly text: string }> {
    await this.refresh();
    return { contentType: this.register.contentType, text: await this.register.metrics() };
  }

  /** All metrics as values. */
  async families(): Promise<MetricObjectWithValues<MetricValue<string>>[]> {
    await this.refresh();
    return this.register.getMetricsAsJSON();
  }

  private async refresh(): Promise<void> {
    await Promise.all(this.refreshers.map((refresh) => refresh()));
  }
}

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
