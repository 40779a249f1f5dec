import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import {
  Inject,
  Injectable,
  Logger,
  type OnApplicationBootstrap,
  type OnApplicationShutdown,
} from '@nestjs/common';
import type { ConfigType } from '@nestjs/config';
import { DataSource } from 'typeorm';
import { AuditTrail } from '../../audit/audit-trail.js';
import { limitsConfig } from '../../config/slices.js';
import { LeaseRenewal } from '../../database/lease-renewal.js';
import { Polling } from '../../database/polling.js';
import { EntryWriter } from '../../entries/writer/entry-writer.js';
import { AdminNamespaces } from '../../sources/admin-limits.js';
import { SourceLeases, WATCH_LEASE, type WatchedSource } from '../../sources/source-leases.queries.js';
import { SourceStates } from '../../sources/source-states.queries.js';
import { SyncMetrics } from '../../telemetry/registry-metrics.js';
import { Cluster } from './cluster.js';
import { SourceWatch } from './source-watch.js';
import { StoredEntries } from './stored-entries.queries.js';

const POLL_MS = 1_000;
const STOP_TIMEOUT_MS = 3_000;

/**
 * Watches the sources of kind kubernetes, each on one replica at a time: the one that holds its lease. The leases of a
 * replica that dies run out; one that stops hands them back.
 */
@Injectable()
export class ClusterWatcher implements OnApplicationBootstrap, OnApplicationShutdown {
  private readonly logger = new Logger('kubernetes');
  private readonly owner = randomUUID();
  private readonly watches = new Map<number, SourceWatch>();
  private readonly renewal = new LeaseRenewal(
    (ms) => this.leases.renew(this.owner, ms, this.currentIds()),
    WATCH_LEASE.ms,
    WATCH_LEASE.renewMs,
  );
  private readonly polling = new Polling(() => this.watchFree(), POLL_MS, this.logger, {
    failed: 'Finding the clusters to watch failed',
    unreachable: 'PostgreSQL is not reachable, watches wait',
    reachable: 'PostgreSQL is reachable again, watches go on',
  });

  constructor(
    private readonly dataSource: DataSource,
    private readonly leases: SourceLeases,
    private readonly states: SourceStates,
    private readonly writer: EntryWriter,
    private readonly stored: StoredEntries,
    private readonly cluster: Cluster,
    private readonly metrics: SyncMetrics,
    private readonly namespaces: AdminNamespaces,
    private readonly audit: AuditTrail,
    @Inject(limitsConfig.KEY) private readonly limits: ConfigType<typeof limitsConfig>,
  ) {}

  onApplicationBootstrap(): void {
    this.polling.begin();
  }

  async onApplicationShutdown(): Promise<void> {
    await this.polling.end();
    this.renewal.end();
    const stopped = Promise.allSettled([...this.watches.values()].map((watch) => watch.stop()));
    await Promise.race([stopped, sleep(STOP_TIMEOUT_MS, undefined, { ref: false })]);
    await this.leases.release([this.owner]).catch(() => undefined);
  }

  private async watchFree(): Promise<void> {
    for (const source of await this.leases.takeUnwatched(this.owner, WATCH_LEASE.ms)) {
      // One whose settings have changed is free for us again: its watch is out of date.
      await this.watches.get(source.id)?.stop();
      this.watch(source);
    }
  }

  private watch(source: WatchedSource): void {
    this.logger.log({ source: source.name }, 'Watching the cluster of this source');
    const { owner, dataSource, leases, states, writer, stored, cluster, metrics, namespaces, audit } = this;
    const maxClaimSets = this.limits.claimSetsPerSource;
    const dependencies = {
      owner,
      dataSource,
      leases,
      states,
      writer,
      stored,
      cluster,
      metrics,
      namespaces,
      audit,
      maxClaimSets,
    };
    const watch = new SourceWatch(source, dependencies);
    this.watches.set(source.id, watch);
    // A lease that has only expired is renewed once the database is reachable again, if nobody else has taken it by then.
    const { taken } = this.renewal.hold(source.id);
    taken.addEventListener('abort', () => void this.drop(watch), { once: true });
    watch.start();
  }

  private async drop(watch: SourceWatch): Promise<void> {
    const { id, name } = watch.source;
    if (this.watches.get(id) === watch) this.watches.delete(id);
    await watch.stop();
    this.logger.log(
      { source: name },
      'Stopped watching: the source was changed or removed, or changed hands',
    );
  }

  private currentIds(): number[] {
    return [...this.watches.values()].filter(({ isCurrent }) => isCurrent).map(({ source }) => source.id);
  }
}
