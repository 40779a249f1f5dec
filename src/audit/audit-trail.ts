import { hash } from 'node:crypto';
import { Inject, Injectable, Logger } from '@nestjs/common';
import type { ConfigType } from '@nestjs/config';
import { DataSource, type EntityManager } from 'typeorm';
import { type Caller, callerKeyOf } from '../auth/caller.js';
import type { AuditAction, Role } from '../auth/route.js';
import { AccessPolicy } from '../authz/access-policy.js';
import { ClaimSet } from '../claim-sets/claim-sets.repository.js';
import type { Claims } from '../claims/claims.js';
import { limitsConfig } from '../config/slices.js';
import { isTransactionConflict } from '../database/database-errors.js';
import { ApiError } from '../http/errors.js';
import { clientNetwork, type RequestContext } from '../http/request-context.js';
import { RateLimit } from '../limits/quota.js';
import {
  actorOf,
  type AuditActor,
  type AuditChange,
  type AuditEvent,
  type AuditTarget,
  boundedScope,
  SYNC_ACTOR,
} from './audit-event.js';
import { AuditQueries, type WrittenEvent } from './audit.queries.js';

export interface ChangeEvent {
  readonly action: AuditAction;
  readonly target: AuditTarget;
  /** The target's claims before and after the change. Managers must cover all of them to see the event. */
  readonly claims: readonly Claims[];
  readonly change?: AuditChange;
  /** The role that sees the event; by default, the one that manages targets of this type. */
  readonly role?: Role;
  /** Paths of changed settings that take effect after a restart; set for changes to the configuration. */
  readonly waiting?: readonly string[];
}

/** A source or registry before or after a change: its claims and its audited form. */
export interface AuditedForm {
  readonly claims: Claims;
  readonly form: object;
}

/** Returns the event of a change to a source or registry: null before it was created, and after it was deleted. */
export function resourceChange(
  type: 'source' | 'registry',
  name: string,
  before: AuditedForm | null,
  after: AuditedForm | null,
): ChangeEvent {
  const verb = before === null ? 'create' : after === null ? 'delete' : 'update';
  return {
    action: `${type}.${verb}`,
    target: { type, name },
    claims: [before, after].flatMap((declared) => (declared ? [declared.claims] : [])),
    change: { ...(before ? { before: before.form } : {}), ...(after ? { after: after.form } : {}) },
  };
}

/** The caller and the request that make a change. */
export interface Requester {
  readonly caller: Caller;
  readonly context: RequestContext;
}

/** The result of a transaction, with its events. */
export interface Audited<T> {
  readonly result: T;
  /** One per change; empty if nothing changed. */
  readonly events: readonly ChangeEvent[];
}

/** Numbers of entries changed by a sync. */
export interface SyncResult {
  readonly added: number;
  readonly changed: number;
  readonly removed: number;
  /** Time from the start of the sync to this event; undefined for a watch, which never ends. */
  readonly durationMs?: number;
}

const MINUTE_MS = 60_000;

/** Counts each caller's changes, so that nobody floods the audit trail (reference/limits, `changesPerMinute`). */
class ChangeLimit {
  private readonly changes: RateLimit;

  constructor(private readonly perMinute: number) {
    this.changes = new RateLimit({ perKey: perMinute }, MINUTE_MS);
  }

  /**
   * Counts a change.
   *
   * @returns a function that undoes the count if the change failed.
   * @throws ApiError 429 `too_many_requests`.
   */
  count({ caller, context }: Requester): () => void {
    // Subjects may be long.
    const key = hash(
      'sha256',
      callerKeyOf(caller, { clientKey: clientNetwork(context.sourceIp ?? undefined) }),
    );
    if (this.changes.tryAcquire(key)) return () => this.changes.release(key);
    throw new ApiError(
      'too_many_requests',
      `You have made ${this.perMinute} changes within a minute, the maximum: try again later`,
      undefined,
      { headers: { 'Retry-After': String(this.changes.retryAfterSeconds) } },
    );
  }
}

/** Maximum attempts for a transaction that deadlocks or cannot be serialized. */
const MAX_ATTEMPTS = 3;

/** Writes an event in the same transaction as each change, and logs the event after the commit (reference/audit). */
@Injectable()
export class AuditTrail {
  private readonly logger = new Logger('audit');
  private readonly limit: ChangeLimit;
  private readonly listeners: (() => void)[] = [];

  constructor(
    private readonly dataSource: DataSource,
    private readonly queries: AuditQueries,
    private readonly policy: AccessPolicy,
    @Inject(limitsConfig.KEY) limits: ConfigType<typeof limitsConfig>,
  ) {
    this.limit = new ChangeLimit(limits.changesPerMinute);
  }

  /**
   * Runs a transaction and writes its events. Runs it again after a deadlock or a serialization failure.
   *
   * @param by the requester, or an actor for changes made by the server itself.
   * @throws ApiError 429 `too_many_requests` if something changed and the requester has reached the limit.
   */
  transaction<T>(
    by: Requester | AuditActor,
    work: (manager: EntityManager) => Promise<Audited<T>>,
  ): Promise<T> {
    return withRetries(() => this.attempt(by, work));
  }

  /** Runs `work` in a transaction, rolls it back and returns the result. */
  rehearse<T>(work: (manager: EntityManager) => Promise<Audited<T>>): Promise<T> {
    return withRetries(async () => {
      const runner = this.dataSource.createQueryRunner();
      try {
        await runner.startTransaction();
        return (await work(runner.manager)).result;
      } finally {
        if (runner.isTransactionActive) await runner.rollbackTransaction().catch(() => undefined);
        await runner.release();
      }
    });
  }

  private async attempt<T>(
    by: Requester | AuditActor,
    work: (manager: EntityManager) => Promise<Audited<T>>,
  ): Promise<T> {
    let written: readonly WrittenEvent[] = [];
    const requester = 'caller' in by ? by : null;
    const actor = 'caller' in by ? actorOf(by.caller, this.policy.rolesOf(by.caller)) : by;
    let undo: (() => void) | undefined;
    try {
      const result = await this.dataSource.transaction(async (manager) => {
        const done = await work(manager);
        if (requester && done.events.length > 0) undo = this.limit.count(requester);
        const events = done.events.map((change) => eventOf(change, actor, requester?.context ?? null));
        written = await this.queries.insertChanges(manager, events);
        return done.result;
      });
      // Send the response before logging.
      setImmediate(() => this.report(written));
      return result;
    } catch (error) {
      undo?.();
      throw error;
    }
  }

  /**
   * Writes an event in the same transaction as a sync, unless nothing changed.
   *
   * @param claimSetId the claim set of the source.
   * @returns the events to pass to `report` after the commit.
   */
  async writeSync(
    manager: EntityManager,
    source: string,
    claimSetId: number,
    { added, changed, removed, durationMs }: SyncResult,
  ): Promise<WrittenEvent[]> {
    if (added + changed + removed === 0) return [];
    const { claims } = await manager.findOneByOrFail(ClaimSet, { id: claimSetId });
    const change: ChangeEvent = {
      action: 'sync.run',
      target: { type: 'source', name: source },
      claims: [claims],
      change: { after: { added, changed, removed, ...(durationMs === undefined ? {} : { durationMs }) } },
    };
    return this.queries.insertChanges(manager, [eventOf(change, SYNC_ACTOR, null)]);
  }

  /**
   * Writes events about items that the server itself held or admitted, in the same transaction. They are not logged.
   */
  async writeItems(
    manager: EntityManager,
    actor: AuditActor,
    changes: readonly ChangeEvent[],
  ): Promise<void> {
    if (changes.length > 0)
      await this.queries.insertChanges(
        manager,
        changes.map((change) => eventOf(change, actor, null)),
      );
  }

  /** Calls the listener after this replica committed events. */
  onWritten(listener: () => void): void {
    this.listeners.push(listener);
  }

  /** Logs committed events. */
  report(written: readonly WrittenEvent[]): void {
    for (const { id, time, event } of written)
      this.logger.log({ id, ...(JSON.parse(event) as object), at: time }, 'Audit event');
    if (written.length > 0) for (const listener of this.listeners) listener();
  }
}

async function withRetries<T>(transaction: () => Promise<T>): Promise<T> {
  for (let attempt = 1; ; attempt += 1)
    try {
      return await transaction();
    } catch (error) {
      if (attempt === MAX_ATTEMPTS || !isTransactionConflict(error)) throw error;
    }
}

/** Returns the role that manages targets of this type; null if there is no such role. */
function managerOf({ type }: AuditTarget): Role | null {
  switch (type) {
    case 'source':
      return 'manageSources';
    case 'registry':
      return 'manageRegistries';
    case 'block':
    case 'webhook':
    case 'configuration':
    case 'route':
      return null;
    case 'server':
    case 'skill':
    case 'plugin':
      return 'manageEntries';
  }
}

function eventOf(
  { action, target, claims, change, waiting, role: seenBy }: ChangeEvent,
  actor: AuditActor,
  context: RequestContext | null,
): AuditEvent {
  const role = seenBy ?? managerOf(target);
  return {
    action,
    outcome: 'allowed',
    actor,
    target,
    ...(change ? { change } : {}),
    waiting,
    context,
    scope: role && boundedScope(role, claims),
  };
}
