import { Injectable, Logger } from '@nestjs/common';
import { DataSource, type EntityManager } from 'typeorm';
import type { Caller } from '../auth/caller.js';
import type { AuditAction, Role } from '../auth/route.js';
import { AccessPolicy } from '../authz/access-policy.js';
import { ClaimSet } from '../claim-sets/claim-set.entity.js';
import type { Claims } from '../claims/claims.js';
import type { RequestContext } from '../http/request-context.js';
import {
  actorOf,
  type AuditActor,
  type AuditChange,
  type AuditEvent,
  type AuditTarget,
  boundedScope,
  CONFIGURATION_ACTOR,
  SYNC_ACTOR,
} from './audit-event.js';
import { AuditQueries, type WrittenEvent } from './audit.queries.js';

/** A change, on its way into the trail. */
export interface ChangeEvent {
  readonly action: AuditAction;
  readonly target: AuditTarget;
  /** The claims that the target had before the change and has after it: who sees the event reaches all of them. */
  readonly claims: readonly Claims[];
  readonly change?: AuditChange;
}

/** Whose request a change is made for; null: the configuration's. */
export interface Requester {
  readonly caller: Caller;
  readonly context: RequestContext;
}

/** Writes the event of a change. Before what others wait for is locked, where that is possible: it is one statement more. */
export type RecordChange = (event: ChangeEvent) => Promise<void>;

/** What a sync that changed something has done. */
export interface SyncResult {
  readonly added: number;
  readonly changed: number;
  readonly removed: number;
  /** From its start to the writing of this; a watch has none, as it never ends. */
  readonly durationMs?: number;
}

/**
 * The events of changes (contract §9): each is written in the transaction of its change, so that neither is there without the
 * other, and goes to the log once that has been committed.
 */
@Injectable()
export class AuditTrail {
  private readonly logger = new Logger('audit');

  constructor(
    private readonly dataSource: DataSource,
    private readonly queries: AuditQueries,
    private readonly policy: AccessPolicy,
  ) {}

  /** Runs a transaction that changes something; `record` is called for each of its changes. */
  async transaction<T>(
    requester: Requester | null,
    work: (manager: EntityManager, record: RecordChange) => Promise<T>,
  ): Promise<T> {
    const written: WrittenEvent[] = [];
    const actor = requester
      ? actorOf(requester.caller, this.policy.rolesOf(requester.caller))
      : CONFIGURATION_ACTOR;
    const result = await this.dataSource.transaction((manager) =>
      work(manager, async (change) => {
        const event = eventOf(change, actor, requester?.context ?? null);
        written.push(await this.queries.insertChange(manager, event));
      }),
    );
    // Its answer comes first.
    setImmediate(() => this.report(written));
    return result;
  }

  /**
   * Writes that a sync has changed something, in its transaction.
   *
   * @param claimSetId of the source.
   * @returns what is to be reported once the transaction has been committed.
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
    return [await this.queries.insertChange(manager, eventOf(change, SYNC_ACTOR, null))];
  }

  /** Logs events that are in the database for good. */
  report(written: readonly WrittenEvent[]): void {
    for (const { id, time, event } of written)
      this.logger.log({ id, ...(JSON.parse(event) as object), at: time }, 'Audit event');
  }
}

/** The role in which a manager reaches what an event is about; null where there is none. */
export function managerOf({ type }: AuditTarget): Role | null {
  switch (type) {
    case 'source':
      return 'manageSources';
    case 'registry':
      return 'manageRegistries';
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
  { action, target, claims, change }: ChangeEvent,
  actor: AuditActor,
  context: RequestContext | null,
): AuditEvent {
  const role = managerOf(target);
  return {
    action,
    outcome: 'allowed',
    actor,
    target,
    ...(change ? { change } : {}),
    context,
    scope: role && boundedScope(role, claims),
  };
}
