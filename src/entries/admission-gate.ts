import type { EntityManager } from 'typeorm';
import type { RecordChange } from '../audit/audit-trail.js';
import type { Caller } from '../auth/caller.js';
import type { Claims } from '../claims/claims.js';
import type { EntryName, IncomingVersion, VersionName } from '../documents/entry-types.js';
import type { Status } from '../documents/statuses.js';
import type { RequestContext } from '../http/request-context.js';
import type { EntrySize, RefusedVersion } from './entry-limits.js';
import type { StoredVersion } from './writer/catalog-diff.js';

export const POLICIES = ['minAge', 'newNames', 'changed', 'rule', 'review', 'block', 'webhook'] as const;
export type Policy = (typeof POLICIES)[number];

/** Why a version or change is held (reference/admission). */
export interface HoldReason {
  readonly policy: Policy;
  readonly message: string;
  /** RFC 3339; when this reason ends by itself. */
  readonly dueAt?: string;
  /** The block, for `policy: block`. Not shown. */
  readonly block?: string;
  /** The admission webhook, for `policy: webhook`. Not shown. */
  readonly webhook?: string;
  /** Whether the webhook did not answer as it should. Not shown. */
  readonly failed?: boolean;
}

export type ShownReason = Pick<HoldReason, 'policy' | 'message' | 'dueAt'>;

/** The outcome of admission. */
export type Verdict =
  | { readonly outcome: 'admit' }
  | { readonly outcome: 'hold' | 'reject'; readonly reasons: readonly HoldReason[] };

export const ADMIT: Verdict = { outcome: 'admit' };

/** A change of a reviewed entry, or of one of its versions. */
export interface ItemChange {
  readonly claims?: Claims;
  readonly status?: Status;
  readonly statusMessage?: string | null;
}

/** What a sync read, and what is stored of it. */
export interface SyncedContent {
  readonly sourceId: number;
  readonly incoming: readonly IncomingVersion[];
  /** The stored versions, at least those in `incoming`. */
  readonly stored: readonly StoredVersion[];
  /** Whether the source no longer has a version that is not in `incoming`. */
  readonly isGone: (version: VersionName) => boolean;
  /** The claims of an entry; null: the claims of the source. */
  readonly claimsOf: ((version: IncomingVersion) => Claims) | null;
}

/** The blocks that a decision has considered. */
export type ConsideredBlocks = readonly { readonly id: string; readonly revision: string }[];

export interface AdmittedContent {
  /** The versions to store. */
  readonly admitted: readonly IncomingVersion[];
  /** Whether a stored version stays as it is, although it is not in `admitted`. */
  readonly stays: (version: VersionName) => boolean;
  /** How many stored versions stay that way. */
  readonly staying: number;
  /** Whether an unchanged version must be written again, because it is rewritten in another way. */
  readonly isOutdated: (version: VersionName) => boolean;
  readonly rejected: readonly RefusedVersion[];
  /** Number of versions of the source that are held now. */
  readonly held: number;
  readonly blocks: ConsideredBlocks;
}

/** A version that somebody publishes. */
export interface Publication {
  readonly source: PublishedSource;
  readonly version: IncomingVersion;
  /** The claims of the entry, as given. */
  readonly claims: Claims;
  readonly caller: Caller;
}

/** A publication that no admission webhook rejects. */
export interface AskedPublication {
  /** The id of the item if the version is held. */
  readonly id: string;
  /** Why webhooks hold it. */
  readonly reasons: readonly HoldReason[];
  /** Webhooks to ask again, because they failed. */
  readonly failed: readonly string[];
}

export interface PublishedSource {
  readonly id: number;
  readonly name: string;
  readonly settings: { readonly review?: readonly ReviewRule[] };
}

/** Who approves publications of these names: an item of `managed.review`. */
export interface ReviewRule {
  readonly names: readonly string[];
  /** An array lists alternatives. */
  readonly reviewers: Claims;
  readonly approvals?: number;
}

/** The held versions of an entry. */
export interface Reservation {
  /** The claims that held versions reserve the name with; null if none is held. */
  readonly claims: Claims | null;
  readonly size: EntrySize;
  readonly hasVersion: boolean;
  /** Whether the caller published the held version. */
  readonly isOwn: boolean;
}

/** A held version or change, as answers to its sender show it. */
export interface HeldAnswer {
  /** Absent in a dry run. */
  readonly id?: string;
  readonly status: 'held';
  readonly reasons: readonly ShownReason[];
}

/** A change of an entry that may need review. */
export interface ProposedChange {
  readonly source: PublishedSource;
  readonly entry: EntryName;
  /** Null for a change of the whole entry. */
  readonly version: string | null;
  readonly change: ItemChange;
  /** The current claims, as given. */
  readonly claims: Claims;
  readonly caller: Caller;
}

/**
 * Decides what may come in (reference/admission). Everything that stores versions asks it first. Methods run in the caller's
 * transaction, which holds the lock of the entry (`lockEntry`) or, for synced sources, of the source.
 */
export abstract class AdmissionGate {
  /** Splits what a sync read; keeps held versions in their own table. */
  abstract splitSynced(manager: EntityManager, content: SyncedContent): Promise<AdmittedContent>;

  /**
   * Applies the blocks that changed after `splitSynced`, and keeps them from changing until the transaction ends. Call it last:
   * the change of a block waits for the commit.
   *
   * @param considered the blocks that `splitSynced` considered.
   */
  abstract settleSynced(
    manager: EntityManager,
    sourceId: number,
    considered: ConsideredBlocks,
  ): Promise<void>;

  /** Returns why publications of a name are held for review; null if they are not. */
  abstract reviewReason(settings: PublishedSource['settings'], name: string): HoldReason | null;

  /** Returns the versions of this name that are held, which count like published ones. */
  abstract reservation(manager: EntityManager, version: VersionName, caller: Caller): Promise<Reservation>;

  /**
   * Checks a publication against the blocks, which stay in force until the transaction ends.
   *
   * @returns why the version is blocked; null if it is not.
   */
  abstract blockReason(manager: EntityManager, version: IncomingVersion): Promise<string | null>;

  /** Whether admission webhooks must be asked about publications. */
  abstract get asksAboutPublications(): boolean;

  /**
   * Asks the admission webhooks about a publication. Call it outside of any transaction: it may take long.
   *
   * @throws ApiError 403 `admission_rejected`, 429 `too_many_requests`; SemaphoreTimeout.
   */
  abstract askAboutPublication(publication: Publication, context: RequestContext): Promise<AskedPublication>;

  /**
   * Holds a publication that a policy holds.
   *
   * @param asked what the admission webhooks answered; null if none was asked.
   * @param record null for a dry run, which writes nothing.
   * @returns null if the version may be stored.
   * @throws ApiError 409 `too_many_held`.
   */
  abstract holdPublication(
    manager: EntityManager,
    publication: Publication,
    asked: AskedPublication | null,
    record: RecordChange | null,
  ): Promise<HeldAnswer | null>;

  /**
   * Holds a change of a reviewed name.
   *
   * @returns null if it needs no review; otherwise the id of the item.
   * @throws ApiError 409 `change_pending`, `too_many_held`.
   */
  abstract holdChange(
    manager: EntityManager,
    change: ProposedChange,
    record: RecordChange,
  ): Promise<string | null>;

  /** Gives the held versions of an entry its current claims, which reviewers must reach. */
  abstract relabel(manager: EntityManager, sourceId: number, entry: EntryName, claims: Claims): Promise<void>;

  /** Withdraws the pending change of an entry or version that is removed. */
  abstract dropChanges(
    manager: EntityManager,
    source: Pick<PublishedSource, 'id' | 'name'>,
    entry: EntryName,
    version: string | null,
    record: RecordChange,
  ): Promise<void>;

  /** Returns an item as the API shows it to its sender. */
  abstract describe(caller: Caller, id: string, manager?: EntityManager): Promise<string>;
}

/** Returns the reasons without internal members. */
export function shownReasons(reasons: readonly HoldReason[]): ShownReason[] {
  return reasons.map(({ policy, message, dueAt }) => ({
    policy,
    message,
    ...(dueAt === undefined ? {} : { dueAt }),
  }));
}
