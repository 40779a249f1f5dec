import { randomUUID } from 'node:crypto';
import { Injectable, Logger, type OnApplicationBootstrap, type OnApplicationShutdown } from '@nestjs/common';
import { Polling } from '../database/polling.js';
import { SyncMetrics } from '../telemetry/sync-metrics.js';
import { Lease } from '../database/lease.js';
import { type LeasedSource, SyncQueries } from './sync.queries.js';
import { SyncRun } from './sync-run.js';

const POLL_MS = 500;
const LEASE_MS = 15_000;
const RENEW_MS = 5_000;
const MAX_CONCURRENT = 4;
const STOP_PATIENCE_MS = 3_000;

/**
 * Runs due sources. Which are due, and which replica runs one, stands in the database: a source is leased while it runs,
 * and a replica that dies loses its leases by time.
 */
@Injectable()
export class SyncScheduler implements OnApplicationBootstrap, OnApplicationShutdown {
  private readonly logger = new Logger('sync');
  /** By the owner of the lease. Each run has its own, so that none ends the lease of a later one. */
  private readonly running = new Map<string, Promise<void>>();
  private readonly stopping = new AbortController();
  private readonly polling = new Polling(() => this.startDue(), POLL_MS, this.logger, {
    failed: 'Looking for due sources failed',
    away: 'The database is away, syncs wait',
    back: 'The database is back, syncs go on',
  });

  constructor(
    private readonly queries: SyncQueries,
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
    while (!this.polling.hasEnded && this.running.size < MAX_CONCURRENT) {
      const owner = randomUUID();
      const source = await this.queries.leaseDue(owner, LEASE_MS);
      if (!source) return;
      const run = this.run(owner, source).finally(() => {
        const wasFull = this.running.size >= MAX_CONCURRENT;
        this.running.delete(owner);
        // Sources that wait for a free place are not left to wait for the next look as well.
        if (wasFull) this.polling.lookNow();
      });
      this.running.set(owner, run);
    }
  }

  // Never rejects.
  private async run(owner: string, source: LeasedSource): Promise<void> {
    const end = this.metrics.begin(source.kind);
    const lease = new Lease((ms) => this.queries.renew(owner, source.id, ms), LEASE_MS, RENEW_MS);
    try {
      end(await this.syncRun.run(owner, source, AbortSignal.any([this.stopping.signal, lease.lost])));
    } catch (error) {
      end(lease.isTaken ? 'superseded' : 'cut_off');
      if (lease.isTaken)
        this.logger.log({ source: source.name }, 'A sync was cut off: its source changed hands or settings');
      else
        this.logger.warn(
          { source: source.name, err: error },
          'A sync was cut off; it runs again when its lease ends',
        );
      if (this.polling.hasEnded) await this.release([owner]);
    } finally {
      lease.end();
    }
  }

  private async runsEnd(): Promise<void> {
    await Promise.race([Promise.allSettled(this.running.values()), sleep(STOP_PATIENCE_MS)]);
  }

  private async release(owners: string[]): Promise<void> {
    if (owners.length > 0) await this.queries.release(owners).catch(() => undefined);
  }
}

function sleep(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms).unref());
}
