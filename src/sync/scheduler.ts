import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { Injectable, Logger, type OnApplicationBootstrap, type OnApplicationShutdown } from '@nestjs/common';
import { LeaseRenewal } from '../database/lease-renewal.js';
import { Polling } from '../database/polling.js';
import { type LeasedSource, SourceLeases, SYNC_LEASE } from '../sources/source-leases.queries.js';
import { type RunOutcome, SyncMetrics } from '../telemetry/registry-metrics.js';
import { tracing } from '../telemetry/tracing.js';
import { SyncRun } from './sync-run.js';
import { SyncQueries } from './sync.queries.js';

const POLL_MS = 500;
const MAX_CONCURRENT = 4;
/** A run that has gone on for this long is slow: it does not keep others from being started, unless there are very many. */
const SLOW_AFTER_MS = 30_000;
const MAX_SLOW = 12;
const STOP_TIMEOUT_MS = 3_000;

/**
 * Runs due sources. The database knows which are due, and which replica runs one: a source is leased while it runs, and the
 * leases of a replica that dies run out.
 */
@Injectable()
export class SyncScheduler implements OnApplicationBootstrap, OnApplicationShutdown {
  private readonly logger = new Logger('sync');
  /** By the owner of the lease. Each run has its own, so that none ends the lease of a later one. */
  private readonly running = new Map<string, { readonly run: Promise<void>; readonly since: number }>();
  private readonly stopping = new AbortController();
  private readonly polling = new Polling(() => this.startDue(), POLL_MS, this.logger, {
    failed: 'Finding the sources that are due failed',
    unreachable: 'PostgreSQL is not reachable, syncs wait',
    reachable: 'PostgreSQL is reachable again, syncs go on',
  });

  constructor(
    private readonly queries: SyncQueries,
    private readonly leases: SourceLeases,
    private readonly syncRun: SyncRun,
    private readonly metrics: SyncMetrics,
  ) {}

  onApplicationBootstrap(): void {
    this.polling.begin();
  }

  async onApplicationShutdown(): Promise<void> {
    await this.polling.end();
    // A run that is nearly done may finish; one that is not is cut off.
    await this.runsEnd();
    this.stopping.abort();
    await this.runsEnd();
    await this.release([...this.running.keys()]);
  }

  /** Whether every source has ended its first run, well or not. Until then lists may be emptier than they should be. */
  async firstRunsAreDone(): Promise<boolean> {
    return (await this.queries.countNeverRun()) === 0;
  }

  private async startDue(): Promise<void> {
    while (!this.polling.hasEnded && !this.isFull()) {
      const owner = randomUUID();
      const source = await this.leases.takeDue(owner, SYNC_LEASE.ms);
      if (!source) return;
      const run = this.run(owner, source).finally(() => {
        const wasFull = this.isFull();
        this.running.delete(owner);
        // Sources that wait for a free place need not wait for the next poll as well.
        if (wasFull) this.polling.pollNow();
      });
      this.running.set(owner, { run, since: performance.now() });
    }
  }

  private isFull(): boolean {
    const slowSince = performance.now() - SLOW_AFTER_MS;
    const slow = [...this.running.values()].filter(({ since }) => since < slowSince).length;
    return this.running.size - slow >= MAX_CONCURRENT || slow >= MAX_SLOW;
  }

  // Never rejects.
  private async run(owner: string, source: LeasedSource): Promise<void> {
    const end = this.metrics.begin(source.kind);
    const renewal = new LeaseRenewal((ms) => this.leases.renew(owner, ms), SYNC_LEASE.ms, SYNC_LEASE.renewMs);
    const { taken, expired } = renewal.hold(source.id);
    const signal = AbortSignal.any([this.stopping.signal, taken, expired]);
    try {
      end(await this.traced(source, () => this.syncRun.run(owner, source, signal)));
    } catch (error) {
      end(taken.aborted ? 'superseded' : 'cut_off');
      if (taken.aborted)
        this.logger.log({ source: source.name }, 'A sync was cut off: its source changed hands or settings');
      else
        this.logger.warn(
          { source: source.name, err: error },
          'A sync was cut off; it runs again when its lease ends',
        );
      if (this.polling.hasEnded) await this.release([owner]);
    } finally {
      renewal.end();
    }
  }

  private traced({ name, kind }: LeasedSource, run: () => Promise<RunOutcome>): Promise<RunOutcome> {
    const attributes = { 'registry.source.name': name, 'registry.source.kind': kind };
    return tracing.inSpan(
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
