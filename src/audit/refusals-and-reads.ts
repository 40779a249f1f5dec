import { setTimeout as pause } from 'node:timers/promises';
import { Inject, Injectable, Logger, type OnApplicationShutdown } from '@nestjs/common';
import { Counter } from 'prom-client';
import { isDatabaseUnreachable, isStorageFull } from '../database/database-errors.js';
import { Quota, RateLimit } from '../limits/quota.js';
import { Metrics } from '../telemetry/metrics.js';
import { tracing } from '../telemetry/tracing.js';
import { type AuditEvent, sizeOf } from './audit-event.js';
import { AuditTrail } from './audit-trail.js';
import { AuditQueries } from './audit.queries.js';

/** Refusals recorded per window for all unidentified callers together; about 1 GiB of disk writes per day. */
const MAX_UNIDENTIFIED = 1_000;
const MAX_PER_CALLER = 1_000;
const REFUSALS_WINDOW_MS = 60_000;

const FLUSH_INTERVAL_MS = 250;
/** Interval between attempts while the database is unreachable or its disk is full. */
const RETRY_MS = 1_000;
const EVENTS_PER_STATEMENT = 500;
/** Approximate memory limit for queued events. */
const MAX_QUEUED_BYTES = 8 * 1_024 * 1_024;
const BYTES_PER_EVENT = 2_048;
const BYTES_PER_ATTEMPT = 1_024;
const STOP_TIMEOUT_MS = 2_000;

interface Recording {
  /** Identifies the caller whose quota the event uses; see `Client.callerKey`. */
  readonly callerKey: string;
  /**
   * False for requests that name a missing resource: the event is processed but not stored. Such a request takes as
   * long as one that names a hidden resource, whose event is stored, so timing reveals nothing.
   */
  readonly isKept: boolean;
}

interface QueuedEvent extends Recording {
  readonly event: AuditEvent;
  /** Measured with `performance.now()`. */
  readonly happenedAt: number;
  readonly bytes: number;
}

/**
 * Records refusals and reads in the background (reference/audit). Events are written in batches and never delay a request
 * or make it fail. Events that exceed a limit are dropped; a metric and the next stored event report the number.
 */
@Injectable()
export class RefusalsAndReads implements OnApplicationShutdown {
  private readonly logger = new Logger('audit');
  private readonly queue: QueuedEvent[] = [];
  private readonly queuedBytes = new Quota({ total: MAX_QUEUED_BYTES, reserve: true });
  private readonly unidentifiedRefusals = new RateLimit(
    { total: MAX_UNIDENTIFIED, reserve: true },
    REFUSALS_WINDOW_MS,
  );
  // Some providers issue tokens to anyone, so identified callers are limited as well.
  private readonly callerRefusals = new RateLimit({ perKey: MAX_PER_CALLER }, REFUSALS_WINDOW_MS);
  /** Number of dropped events that no stored event has reported yet. */
  private dropped = 0;
  private timer: NodeJS.Timeout | undefined;
  private flushing: Promise<void> = Promise.resolve();
  /** Number of events at the front of the queue that are written one by one, because their batch failed. */
  private suspects = 0;
  private hasEnded = false;
  private readonly drops: Counter;

  constructor(
    private readonly queries: AuditQueries,
    private readonly trail: AuditTrail,
    @Inject(Metrics) { register }: Metrics,
  ) {
    this.drops = new Counter({
      name: 'registry_audit_events_dropped_total',
      help: 'Audit events for refusals and reads that were lost because they exceeded a limit or could not be written',
      registers: [register],
    });
  }

  record(event: AuditEvent, { callerKey, isKept }: Recording): void {
    const attempts = event.token?.attempts.length ?? 0;
    const bytes = BYTES_PER_EVENT + sizeOf(event.scope?.claims ?? []) + attempts * BYTES_PER_ATTEMPT;
    if (!this.admit(event, callerKey, bytes)) {
      if (isKept) this.drop(1);
      return;
    }
    this.queue.push({ event, happenedAt: performance.now(), isKept, callerKey, bytes });
    const begin = () => setTimeout(() => this.tick(), FLUSH_INTERVAL_MS);
    // A batch contains events from many requests, so it belongs to no trace.
    if (!this.hasEnded) this.timer ??= tracing ? tracing.outside(begin) : begin();
  }

  /** Writes the queued events, and drops any that remain after STOP_TIMEOUT_MS. */
  async onApplicationShutdown(): Promise<void> {
    this.hasEnded = true;
    clearTimeout(this.timer);
    const written = this.flushing.then(() => this.flush());
    await Promise.race([written.catch(() => undefined), pause(STOP_TIMEOUT_MS, undefined, { ref: false })]);
    if (this.queue.length > 0) this.drop(this.queue.filter(({ isKept }) => isKept).length);
  }

  private admit(event: AuditEvent, callerKey: string, bytes: number): boolean {
    const refusals = event.actor.subject === null ? this.unidentifiedRefusals : this.callerRefusals;
    if (event.outcome === 'refused' && !refusals.tryAcquire(callerKey)) return false;
    return this.queuedBytes.tryAcquire(callerKey, bytes);
  }

  private tick(): void {
    this.flushing = this.flush()
      .then(
        () => FLUSH_INTERVAL_MS,
        () => RETRY_MS,
      )
      .then((pauseMs) => {
        const isDone = this.hasEnded || this.queue.length === 0;
        this.timer = isDone ? undefined : setTimeout(() => this.tick(), pauseMs);
      });
  }

  /** @throws the database error if the database is unreachable or its disk full; the events then stay queued. */
  private async flush(): Promise<void> {
    while (this.queue.length > 0) {
      const batch = this.queue.slice(0, this.suspects > 0 ? 1 : EVENTS_PER_STATEMENT);
      if (!(await this.write(batch))) {
        this.suspects = batch.length;
        continue;
      }
      this.suspects = Math.max(0, this.suspects - 1);
      this.queue.splice(0, batch.length);
      for (const { callerKey, bytes } of batch) this.queuedBytes.release(callerKey, bytes);
    }
  }

  /** @returns false if the batch failed and its events must be written one by one. */
  private async write(batch: readonly QueuedEvent[]): Promise<boolean> {
    const now = performance.now();
    const first = batch.findIndex(({ isKept }) => isKept);
    const reported = first === -1 ? 0 : this.dropped;
    try {
      const written = await this.queries.insert(
        batch.map(({ event, happenedAt, isKept }, index) => ({
          event,
          ageMs: now - happenedAt,
          dropped: index === first && reported > 0 ? reported : null,
          isKept,
        })),
      );
      this.dropped -= reported;
      this.trail.report(written);
    } catch (error) {
      if (isDatabaseUnreachable(error) || isStorageFull(error)) throw error;
      if (batch.length > 1) return false;
      this.drop(batch.filter(({ isKept }) => isKept).length);
      this.logger.error({ err: error }, 'An audit event could not be written and is lost');
    }
    return true;
  }

  private drop(count: number): void {
    this.dropped += count;
    this.drops.inc(count);
  }
}
