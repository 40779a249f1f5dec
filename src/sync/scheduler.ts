import { randomUUID } from 'node:crypto';
import { Injectable, Logger, type OnApplicationBootstrap, type OnApplicationShutdown } from '@nestjs/common';
import { isDatabaseAway } from '../database/database-away.js';
import { SyncQueries } from './sync.queries.js';
import { SyncRun } from './sync-run.js';

const POLL_MS = 500;
const LEASE_MS = 15_000;
const RENEW_MS = 5_000;
const SIDE_BY_SIDE = 4;
const STOP_PATIENCE_MS = 3_000;

/**
 * Runs due sources. Which are due, and which replica runs one, stands in the database: a source is leased while it runs,
 * and a replica that dies loses its leases by time.
 */
@Injectable()
export class SyncScheduler implements OnApplicationBootstrap, OnApplicationShutdown {
  private readonly logger = new Logger('sync');
  private readonly owner = randomUUID();
  private readonly running = new Set<Promise<void>>();
  private readonly stopping = new AbortController();
  private timer: NodeJS.Timeout | undefined;
  private polling: Promise<void> = Promise.resolve();
  private stopped = false;
  private away = false;

  constructor(
    private readonly queries: SyncQueries,
    private readonly syncRun: SyncRun,
  ) {}

  onApplicationBootstrap(): void {
    this.tick();
  }

  async onApplicationShutdown(): Promise<void> {
    this.stopped = true;
    clearTimeout(this.timer);
    await this.polling;
    // A run that is nearly done may finish; one that is not is cut off by its lease going to somebody else.
    await Promise.race([Promise.allSettled(this.running), sleep(STOP_PATIENCE_MS)]);
    this.stopping.abort();
    await Promise.race([Promise.allSettled(this.running), sleep(STOP_PATIENCE_MS)]);
    await this.queries.release(this.owner).catch(() => undefined);
  }

  /** Whether every source has ended its first run, well or not. Until then lists may be emptier than they should be. */
  async firstRunsAreDone(): Promise<boolean> {
    return (await this.queries.countNeverRun()) === 0;
  }

  private tick(): void {
    this.polling = this.startDue()
      .then(() => {
        if (this.away) this.logger.log('The database is back, syncs go on');
        this.away = false;
      })
      .catch((error: unknown) => {
        if (!isDatabaseAway(error)) this.logger.error({ err: error }, 'Looking for due sources failed');
        else if (!this.away) this.logger.warn('The database is away, syncs wait');
        this.away ||= isDatabaseAway(error);
      })
      .finally(() => {
        if (!this.stopped) this.timer = setTimeout(() => this.tick(), POLL_MS);
      });
  }

  private async startDue(): Promise<void> {
    while (!this.stopped && this.running.size < SIDE_BY_SIDE) {
      const source = await this.queries.leaseDue(this.owner, LEASE_MS);
      if (!source) return;
      const renewal = setInterval(() => {
        this.queries.renew(this.owner, source.id, LEASE_MS).catch(() => undefined);
      }, RENEW_MS);
      const run = this.syncRun
        .run(this.owner, source, this.stopping.signal)
        .catch((error: unknown) => {
          this.logger.warn(
            { source: source.name, err: error },
            'A sync was cut off; it runs again when its lease ends',
          );
        })
        .finally(() => {
          clearInterval(renewal);
          this.running.delete(run);
        });
      this.running.add(run);
    }
  }
}

function sleep(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms).unref());
}
