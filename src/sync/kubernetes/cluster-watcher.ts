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
import { AdmissionGate } from '../../entries/admission-gate.js';
import { EntryWriter } from '../../entries/writer/entry-writer.js';
import { AdminNamespaces } from '../../sources/admin-limits.js';
import { SourceLeases, WATCH_LEASE, type WatchedSource } from '../../sources/source-leases.queries.js';
import { SourceStates } from '../../sources/source-states.queries.js';
import { SyncMetrics } from '../../telemetry/registry-metrics.js';
import { KubernetesClient } from './kubernetes-client.js';
import { SourceWatch } from './source-watch.js';
import { StoredEntries } from './stored-entries.queries.js';

const POLL_MS = 1_000;
const STOP_TIMEOUT_MS = 3_000;

/**
 * Watches the sources of kind kubernetes that this replica has leased. A replica releases its leases when it stops; a
 * dead replica's leases expire.
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
  private readonly polling = new Polling(() => this.watchUnleased(), POLL_MS, this.logger, {
    failed: 'Looking for unwatched clusters failed',
    unreachable: 'PostgreSQL is unreachable; watches are suspended',
    reachable: 'PostgreSQL is reachable again; watches resume',
  });

  constructor(
    private readonly dataSource: DataSource,
    private readonly leases: SourceLeases,
    private readonly states: SourceStates,
    private readonly writer: EntryWriter,
    private readonly admission: AdmissionGate,
    private readonly stored: StoredEntries,
    private readonly client: KubernetesClient,
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

  private async watchUnleased(): Promise<void> {
    for (const source of await this.leases.takeUnwatched(this.owner, WATCH_LEASE.ms)) {
      // A source is leased again after its settings change, so an existing watch is outdated.
      await this.watches.get(source.id)?.stop();
      this.watch(source);
    }
  }

  private watch(source: WatchedSource): void {
    this.logger.log({ source: source.name }, "Watching this source's cluster");
    const { owner, dataSource, leases, states, writer, stored, client, metrics, namespaces, audit } = this;
    const maxClaimSets = this.limits.claimSetsPerSource;
    const dependencies = {
      owner,
      dataSource,
      leases,
      states,
      writer,
      admission: this.admission,
      stored,
      client,
      metrics,
      namespaces,
      audit,
      maxClaimSets,
    };
    const watch = new SourceWatch(source, dependencies);
    this.watches.set(source.id, watch);
    // Once the database is reachable again, an expired lease is renewed unless another replica has acquired it.
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
      'Stopped watching: the source was changed or removed, or another replica watches it',
    );
  }

  /** Returns the ids of the sources whose entries match their cluster. */
  private currentIds(): number[] {
    return [...this.watches.values()].filter(({ isCurrent }) => isCurrent).map(({ source }) => source.id);
  }
}
