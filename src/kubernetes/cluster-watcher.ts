import { randomUUID } from 'node:crypto';
import { Injectable, Logger, type OnApplicationBootstrap, type OnApplicationShutdown } from '@nestjs/common';
import { DataSource } from 'typeorm';
import { Polling } from '../database/polling.js';
import { EntryWriter } from '../entries/writer/entry-writer.js';
import { SyncMetrics } from '../telemetry/sync-metrics.js';
import { Cluster } from './cluster.js';
import { SourceWatch } from './source-watch.js';
import { WatchQueries } from './watch.queries.js';

const POLL_MS = 1_000;
const LEASE_MS = 10_000;
const RENEW_MS = 3_000;
const STOP_PATIENCE_MS = 3_000;

/**
 * Watches the sources of kind kubernetes, each on one replica at a time: the one that holds its lease. A replica that dies
 * loses its leases by time, one that stops hands them back.
 */
@Injectable()
export class ClusterWatcher implements OnApplicationBootstrap, OnApplicationShutdown {
  private readonly logger = new Logger('kubernetes');
  private readonly owner = randomUUID();
  private readonly watches = new Map<number, SourceWatch>();
  private readonly polling = new Polling(() => this.look(), POLL_MS, this.logger, {
    failed: 'Looking for clusters to watch failed',
    away: 'The database is away, watches wait',
    back: 'The database is back, watches go on',
  });

  constructor(
    private readonly dataSource: DataSource,
    private readonly queries: WatchQueries,
    private readonly writer: EntryWriter,
    private readonly cluster: Cluster,
    private readonly metrics: SyncMetrics,
  ) {}

  onApplicationBootstrap(): void {
    this.polling.begin();
  }

  async onApplicationShutdown(): Promise<void> {
    await this.polling.end();
    const stopping = Promise.allSettled([...this.watches.values()].map((watch) => watch.stop()));
    await Promise.race([stopping, sleep(STOP_PATIENCE_MS)]);
    await this.queries.release(this.owner).catch(() => undefined);
  }

  private async look(): Promise<void> {
    if (this.watches.size > 0) await this.keep();
    for (const source of await this.queries.leaseFree(this.owner, LEASE_MS)) {
      // Changed after we had looked, and so free for us again: its watch is out of date.
      await this.watches.get(source.id)?.stop();
      this.logger.log({ source: source.name }, 'Watching the cluster of this source');
      const { owner, dataSource, queries, writer, cluster, metrics } = this;
      const around = { owner, dataSource, queries, writer, cluster, metrics };
      const watch = new SourceWatch(source, around);
      this.watches.set(source.id, watch);
      watch.start();
    }
  }

  private async keep(): Promise<void> {
    const healthy = [...this.watches.values()]
      .filter(({ isHealthy }) => isHealthy)
      .map(({ source }) => source.id);
    const ours = new Set(await this.queries.renew(this.owner, LEASE_MS, RENEW_MS, healthy));
    for (const [id, watch] of this.watches)
      if (!ours.has(id)) {
        this.watches.delete(id);
        await watch.stop();
        this.logger.log({ source: watch.source.name }, 'The source is no longer ours to watch');
      }
  }
}

function sleep(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms).unref());
}
