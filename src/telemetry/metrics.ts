import {
  collectDefaultMetrics,
  Gauge,
  type MetricObjectWithValues,
  type MetricValue,
  Registry,
} from 'prom-client';
import type { PoolUse } from '../database/connection.js';
import { unlessAborted } from '../limits/semaphore.js';

export type MetricFamilies = MetricObjectWithValues<MetricValue<string>>[];

/** A slow or unreachable database must not delay the other metrics. */
const READ_TIMEOUT_MS = 1_000;

/** Prometheus metrics of one service, in a separate registry because tests run several services in a process. */
export class Metrics {
  readonly register = new Registry();
  private readonly refreshers: (() => Promise<void>)[] = [];

  /** Adds process metrics: event loop, memory, garbage collection. */
  withProcess(): this {
    collectDefaultMetrics({ register: this.register });
    // Removes gauges whose names end in `_total`, which promtool rejects; each is the sum of the metric without that
    // suffix.
    for (const counted of ['resources', 'handles', 'requests'])
      this.register.removeSingleMetric(`nodejs_active_${counted}_total`);
    return this;
  }

  /** Adds `registry_build_info`. */
  withBuild({ version, commit }: { readonly version: string; readonly commit: string }): this {
    const build = new Gauge({
      name: 'registry_build_info',
      help: 'Version of the running build; always 1',
      labelNames: ['version', 'commit', 'node_version'],
      registers: [this.register],
    });
    build.set({ version, commit, node_version: process.version }, 1);
    return this;
  }

  /** Registers `refresh` to run before each scrape. It must be fast and must not reject. */
  refreshBy(refresh: () => Promise<void>): void {
    this.refreshers.push(refresh);
  }

  /**
   * Registers gauges that are read from the database before each scrape. A slow or failed read resets them, and does
   * not affect the other metrics.
   */
  refreshWithin(read: () => Promise<void>, reset: () => void): void {
    let reading: Promise<void> | undefined;
    this.refreshBy(async () => {
      reading ??= read()
        .catch(reset)
        .finally(() => (reading = undefined));
      await unlessAborted(reading, AbortSignal.timeout(READ_TIMEOUT_MS)).catch(reset);
    });
  }

  /** Returns all metrics in the Prometheus text format. */
  async exposition(): Promise<{ readonly contentType: string; readonly text: string }> {
    await this.refresh();
    return { contentType: this.register.contentType, text: await this.register.metrics() };
  }

  /** Returns all metrics as objects. */
  async families(): Promise<MetricFamilies> {
    await this.refresh();
    return this.register.getMetricsAsJSON();
  }

  private async refresh(): Promise<void> {
    await Promise.all(this.refreshers.map((refresh) => refresh()));
  }
}

const POOL = 'db_client_connection_pool_name';

/** Metrics of the PostgreSQL pools, collected at each scrape and named after OpenTelemetry's conventions. */
export function observePools({ register }: Metrics, pools: () => Readonly<Record<string, PoolUse>>): void {
  const registers = [register];
  const each = (set: (pool: string, use: PoolUse) => void) => () => {
    for (const [name, use] of Object.entries(pools())) set(name, use);
  };
  const count = new Gauge({
    name: 'db_client_connections',
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
    help: 'Maximum number of connections to PostgreSQL',
    labelNames: [POOL],
    registers,
    collect: each((pool, use) => max.set({ [POOL]: pool }, use.max)),
  });
  const waiting = new Gauge({
    name: 'db_client_connection_pending_requests',
    help: 'Requests waiting for a connection to PostgreSQL',
    labelNames: [POOL],
    registers,
    collect: each((pool, use) => waiting.set({ [POOL]: pool }, use.waiting)),
  });
}
