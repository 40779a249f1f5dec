import { setTimeout as sleep } from 'node:timers/promises';
import { Injectable, Logger } from '@nestjs/common';
import { LeaseRenewal } from '../../database/lease-renewal.js';
import { Polling } from '../../database/polling.js';
import { WATCH_LEASE, type WatchedSource } from '../../sources/source-leases.queries.js';
import { SourceWatch, WatchServices } from './source-watch.js';

const POLL_MS = 1_000;
const STOP_TIMEOUT_MS = 3_000;

/**
 * Watches the sources of kind kubernetes that this replica has leased. A replica releases its leases when it stops; a
 * dead replica's leases expire.
 */
@Injectable()
export class ClusterWatcher extends Polling {
  private readonly watches = new Map<number, SourceWatch>();
  private readonly renewal = new LeaseRenewal(
    (ms) => this.services.leases.renew(this.services.owner, ms, this.currentIds()),
    WATCH_LEASE.ms,
    WATCH_LEASE.renewMs,
  );

  constructor(private readonly services: WatchServices) {
    super(POLL_MS, new Logger('kubernetes'), {
      failed: 'Looking for unwatched clusters failed',
      unreachable: 'PostgreSQL is unreachable; watches are suspended',
      reachable: 'PostgreSQL is reachable again; watches resume',
    });
  }

  override async onApplicationShutdown(): Promise<void> {
    await this.end();
    this.renewal.end();
    const stopped = Promise.allSettled([...this.watches.values()].map((watch) => watch.stop()));
    await Promise.race([stopped, sleep(STOP_TIMEOUT_MS, undefined, { ref: false })]);
    await this.services.leases.release([this.services.owner]).catch(() => undefined);
  }

  protected async poll(): Promise<void> {
    const { leases, owner } = this.services;
    for (const source of await leases.takeUnwatched(owner, WATCH_LEASE.ms)) {
      // A source is leased again after its settings change, so an existing watch is outdated.
      await this.watches.get(source.id)?.stop();
      this.watch(source);
    }
  }

  private watch(source: WatchedSource): void {
    this.logger.log({ source: source.name }, "Watching this source's cluster");
    const watch = new SourceWatch(source, this.services);
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
