import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { Injectable, Logger } from '@nestjs/common';
import { LeaseRenewal } from '../database/lease-renewal.js';
import { Polling } from '../database/polling.js';
import {
  type LeasedSource,
  SourceLeases,
  SYNC_LEASE,
  type WaitingSources,
} from '../sources/source-leases.queries.js';
import { inSpan } from '../telemetry/tracing.js';
import { type RunOutcome, SyncMetrics } from './sync-metrics.js';
import { SyncRun } from './sync-run.js';
import { SyncQueries } from './sync.queries.js';

const POLL_MS = 500;
const MAX_CONCURRENT = 4;
/** Maximum number of due sources that one statement tries to take. With more, PostgreSQL would read the whole table. */
const MAX_TRIED = 8;
/** Up to MAX_SLOW runs that last longer than this don't count toward MAX_CONCURRENT. */
const SLOW_AFTER_MS = 30_000;
const MAX_SLOW = 16;
/**
 * Sources created through the API start no further runs while this many of their runs are slow, counted for all of them
 * together and for those with the same claims. The reserve is for owners without a slow run. That way, slow upstreams
 * of one tenant stop neither another tenant's sources nor configured ones.
 */
const MAX_SLOW_API = 8;
const RESERVED_SLOW_API = 4;
const MAX_SLOW_CLAIMS = 2;
const STOP_TIMEOUT_MS = 3_000;

/**
 * Runs due syncs. A source is leased during its sync, so that only one replica syncs it; the leases of a dead replica
 * expire.
 */
@Injectable()
export class SyncScheduler extends Polling {
  /** Current runs by lease owner. Each run has a separate owner id, so that it cannot release a later run's lease. */
  private readonly running = new Map<
    string,
    { readonly run: Promise<void>; readonly since: number; readonly source: LeasedSource }
  >();
  /** Due sources as last read, in order. Reading them for each sync would cost more than a short sync. */
  private due: readonly number[] = [];
  private dueReadAt = 0;
  /** Ends runs that wait for memory. */
  private readonly stopping = new AbortController();
  /** Ends all runs. */
  private readonly aborting = new AbortController();

  constructor(
    private readonly queries: SyncQueries,
    private readonly leases: SourceLeases,
    private readonly syncRun: SyncRun,
    private readonly metrics: SyncMetrics,
  ) {
    super(POLL_MS, new Logger('sync'), {
      failed: 'Looking for due sources failed',
      unreachable: 'PostgreSQL is unreachable; syncs are suspended',
      reachable: 'PostgreSQL is reachable again; syncs resume',
    });
  }

  override async onApplicationShutdown(): Promise<void> {
    const polled = this.end();
    this.stopping.abort();
    await polled;
    // Runs may finish within the timeout; the others are aborted.
    await this.runsEnd();
    this.aborting.abort();
    await this.runsEnd();
    await this.release([...this.running.keys()]);
  }

  /** Whether every source has finished its first run, successfully or not. Until then lists may be incomplete. */
  async firstRunsAreDone(): Promise<boolean> {
    return (await this.queries.countNeverRun()) === 0;
  }

  protected async poll(): Promise<void> {
    while (!this.hasEnded && !this.isFull()) {
      const owner = randomUUID();
      const source = await this.takeDue(owner);
      if (!source) return;
      const run = this.run(owner, source).finally(() => {
        const wasFull = this.isFull();
        this.running.delete(owner);
        // Sources that waited for a free slot should not have to wait for the next poll as well.
        if (wasFull) this.pollNow();
      });
      this.running.set(owner, { run, since: performance.now(), source });
    }
  }

  private async takeDue(owner: string): Promise<LeasedSource | null> {
    let isRead = false;
    for (;;) {
      const waiting = this.waiting();
      if (this.due.length === 0 || performance.now() - this.dueReadAt >= POLL_MS) {
        if (isRead) return null;
        isRead = true;
        this.dueReadAt = performance.now();
        this.due = await this.leases.due(waiting);
        if (this.due.length === 0) return null;
      }
      const next = this.due.slice(0, MAX_TRIED);
      const source = await this.leases.takeFirst(owner, SYNC_LEASE.ms, next, waiting);
      this.due = this.due.slice(source ? next.indexOf(source.id) + 1 : next.length);
      if (source) return source;
    }
  }

  private isFull(): boolean {
    const slow = this.slow().length;
    return this.running.size - slow >= MAX_CONCURRENT || slow >= MAX_SLOW;
  }

  private waiting(): WaitingSources {
    const slow = this.slow().filter(({ origin }) => origin === 'api');
    const ids = slow.map(({ claimSetId }) => claimSetId);
    return {
      all: slow.length >= MAX_SLOW_API + RESERVED_SLOW_API,
      owners: slow.length >= MAX_SLOW_API ? slow.map(({ owner }) => owner) : [],
      claimSetIds: ids.filter((id) => ids.filter((other) => other === id).length >= MAX_SLOW_CLAIMS),
    };
  }

  private slow(): LeasedSource[] {
    const slowSince = performance.now() - SLOW_AFTER_MS;
    return [...this.running.values()].filter(({ since }) => since < slowSince).map(({ source }) => source);
  }

  // Never rejects.
  private async run(owner: string, source: LeasedSource): Promise<void> {
    const end = this.metrics.begin(source.kind);
    const renewal = new LeaseRenewal((ms) => this.leases.renew(owner, ms), SYNC_LEASE.ms, SYNC_LEASE.renewMs);
    const { taken, expired } = renewal.hold(source.id);
    const signal = AbortSignal.any([this.aborting.signal, taken, expired]);
    try {
      end(await this.traced(source, () => this.syncRun.run(owner, source, signal, this.stopping.signal)));
    } catch (error) {
      end(taken.aborted ? 'superseded' : 'cut_off');
      if (taken.aborted)
        this.logger.log(
          { source: source.name },
          'Sync aborted: another replica took over its source, or its settings changed',
        );
      else
        this.logger.warn(
          { source: source.name, err: error },
          'Sync aborted; it runs again when its lease expires, or immediately if a block interrupted it',
        );
      if (this.hasEnded) await this.release([owner]);
    } finally {
      renewal.end();
    }
  }

  private traced({ name, kind }: LeasedSource, run: () => Promise<RunOutcome>): Promise<RunOutcome> {
    const attributes = { 'registry.source.name': name, 'registry.source.kind': kind };
    return inSpan(
      `sync ${kind}`,
      attributes,
      async (add) => {
        const outcome = await run();
        add({ 'registry.sync.outcome': outcome });
        return outcome;
      },
      { newTrace: true },
    );
  }

  private async runsEnd(): Promise<void> {
    const ended = Promise.allSettled([...this.running.values()].map(({ run }) => run));
    await Promise.race([ended, sleep(STOP_TIMEOUT_MS, undefined, { ref: false })]);
  }

  private async release(owners: string[]): Promise<void> {
    if (owners.length > 0) await this.leases.release(owners).catch(() => undefined);
  }
}
