import { setTimeout as pause } from 'node:timers/promises';
import { Inject, Injectable, Logger, type OnApplicationShutdown } from '@nestjs/common';
import { Counter } from 'prom-client';
import { isDatabaseUnreachable } from '../database/database-errors.js';
import { Quota } from '../limits/quota.js';
import { Metrics } from '../telemetry/metrics.js';
import { tracing } from '../telemetry/tracing.js';
import { type AuditEvent, sizeOf } from './audit-event.js';
import { AuditTrail } from './audit-trail.js';
import { AuditQueries } from './audit.queries.js';

/** Refusals of those who are not known, in so long: whoever can reach the port must not be able to fill the disk, about 1 GiB a day. */
const MAX_UNKNOWN = 1_000;
/** The same of each who is known: with a provider that gives tokens to everybody, that may be anybody. */
const MAX_OF_CALLER = 1_000;
const REFUSALS_WINDOW_MS = 60_000;

/** How many refusals are recorded; what is beyond it leaves no event, and is counted as dropped. */
export class RefusalLimit {
  private unknown = new Quota(MAX_UNKNOWN);
  private readonly known = new Map<string, number>();
  private windowBegan = performance.now();

  /** @param isKnown whether somebody is known to have been refused; @param client who counts as one. */
  tryAcquire(isKnown: boolean, client: string): boolean {
    if (performance.now() - this.windowBegan > REFUSALS_WINDOW_MS) {
      this.unknown = new Quota(MAX_UNKNOWN);
      this.known.clear();
      this.windowBegan = performance.now();
    }
    if (!isKnown) return this.unknown.tryAcquire(client);
    const before = this.known.get(client) ?? 0;
    this.known.set(client, before + 1);
    return before < MAX_OF_CALLER;
  }
}

/** Between two batches. */
const FLUSH_MS = 250;
/** While the database can't be written to. */
const RETRY_MS = 1_000;
const EVENTS_PER_STATEMENT = 500;
/** Bytes of events that wait, about. */
const MAX_WAITING = 8 * 1_024 * 1_024;
const BYTES_PER_EVENT = 2_048;
const STOP_TIMEOUT_MS = 2_000;

interface Waiting {
  readonly event: AuditEvent;
  readonly happenedAt: number;
  readonly isKept: boolean;
  /** What it takes of the limit, and whose it is. */
  readonly client: string;
  readonly bytes: number;
}

/** Of an event that is no change. */
export interface Recording {
  /** Whose share of the memory it takes: see Quota. */
  readonly client: string;
  /**
   * False: nothing is recorded, but in the same time. It is what a caller asked for who named something that is not there, and must
   * not tell it from something hidden, which is recorded.
   */
  readonly isKept: boolean;
}

/**
 * The events of refusals and reads (contract §9): they are written in batches by and by, and neither slow nor fail a request. What
 * there is no room for is dropped, counted in a metric, and told in the next event.
 */
@Injectable()
export class AuditRecorder implements OnApplicationShutdown {
  private readonly logger = new Logger('audit');
  private waiting: Waiting[] = [];
  private readonly room = new Quota(MAX_WAITING);
  private readonly refusals = new RefusalLimit();
  /** Not told yet. */
  private dropped = 0;
  private timer: NodeJS.Timeout | undefined;
  private flushing: Promise<void> = Promise.resolve();
  private hasEnded = false;
  private readonly drops: Counter;

  constructor(
    private readonly queries: AuditQueries,
    private readonly trail: AuditTrail,
    @Inject(Metrics) { register }: Metrics,
  ) {
    this.drops = new Counter({
      name: 'registry_audit_events_dropped_total',
      help: 'Audit events of refusals and reads that were lost, because there were too many or they could not be written',
      registers: [register],
    });
  }

  record(event: AuditEvent, { client, isKept }: Recording): void {
    const bytes = BYTES_PER_EVENT + sizeOf(event.scope?.claims ?? []);
    if (!this.mayWait(event, client, bytes)) {
      if (isKept) this.drop(1);
      return;
    }
    this.waiting.push({ event, happenedAt: performance.now(), isKept, client, bytes });
    // A batch holds the events of many requests, and belongs to the trace of none.
    if (!this.hasEnded) this.timer ??= tracing.outside(() => setTimeout(() => this.tick(), FLUSH_MS));
  }

  /** Writes what waits, if that is possible within short time. */
  async onApplicationShutdown(): Promise<void> {
    this.hasEnded = true;
    clearTimeout(this.timer);
    const written = this.flushing.then(() => this.flush());
    const end = new AbortController();
    await Promise.race([
      written.catch(() => undefined),
      pause(STOP_TIMEOUT_MS, undefined, { signal: end.signal }).catch(() => undefined),
    ]);
    end.abort();
    if (this.waiting.length > 0) this.drop(this.waiting.filter(({ isKept }) => isKept).length);
  }

  private mayWait(event: AuditEvent, client: string, bytes: number): boolean {
    const isKnown = event.actor.subject !== null;
    if (event.outcome === 'refused' && !this.refusals.tryAcquire(isKnown, client)) return false;
    return this.room.tryAcquire(client, bytes);
  }

  private tick(): void {
    this.flushing = this.flush()
      .then(
        () => FLUSH_MS,
        () => RETRY_MS,
      )
      .then((pauseMs) => {
        const isDone = this.hasEnded || this.waiting.length === 0;
        this.timer = isDone ? undefined : setTimeout(() => this.tick(), pauseMs);
      });
  }

  /** @throws what says that the database is not reachable: everything goes on waiting then. */
  private async flush(): Promise<void> {
    while (this.waiting.length > 0) {
      const batch = this.waiting.slice(0, EVENTS_PER_STATEMENT);
      await this.write(batch);
      this.waiting.splice(0, batch.length);
      for (const { client, bytes } of batch) this.room.release(client, bytes);
    }
  }

  private async write(batch: readonly Waiting[]): Promise<void> {
    const now = performance.now();
    const first = batch.findIndex(({ isKept }) => isKept);
    const told = first === -1 ? 0 : this.dropped;
    try {
      const written = await this.queries.insert(
        batch.map(({ event, happenedAt, isKept }, index) => ({
          event,
          ageMs: now - happenedAt,
          dropped: index === first && told > 0 ? told : null,
          isKept,
        })),
      );
      this.dropped -= told;
      this.trail.report(written);
    } catch (error) {
      if (isDatabaseUnreachable(error)) throw error;
      this.drop(batch.filter(({ isKept }) => isKept).length);
      this.logger.error({ err: error }, 'Audit events could not be written and are lost');
    }
  }

  private drop(count: number): void {
    this.dropped += count;
    this.drops.inc(count);
  }
}
