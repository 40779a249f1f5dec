import type { AdmissionConfig } from '../config/config.js';
import type { IncomingVersion } from '../documents/entry-types.js';
import type { StoredVersion } from '../entry-store/entry.entity.js';
import { type Contents, contentsOf } from '../members/members.js';
import type { Members } from '../members/members.responses.js';
import { waitingFor } from './admission-webhooks.js';
import { candidateOf, matchingBlocks } from './block-rule.js';
import { reasonOf } from './blocks.queries.js';
import { curate, curateContent, takesBack, withReasons } from './curation-rules.js';
import type { HeldVersion } from './held-items.queries.js';
import { ADMIT, type HoldReason, type Verdict } from './hold-reason.js';

/** The rules that decide on the versions of a sync. */
export interface SyncRules {
  readonly admission: AdmissionConfig | null;
  readonly blocks: Parameters<typeof matchingBlocks>[0];
  /** The names of the webhooks that are asked about syncs. */
  readonly webhooks: readonly string[];
  readonly now: Date;
}

/** A version that a sync has read, with its stored and held documents. */
export interface SeenVersion {
  readonly version: IncomingVersion;
  readonly isKnownName: boolean;
  /** The stored version, even if its document differs. */
  readonly stored: StoredVersion | undefined;
  /** Whether this document is served. */
  readonly isServed: boolean;
  /** The held and rejected documents of the version. */
  readonly items: readonly HeldVersion[];
  /** The item of this document, if it is held. */
  readonly held: HeldVersion | undefined;
  /** The item of this document, if it was rejected. */
  readonly rejected: HeldVersion | undefined;
  readonly content: SeenContent;
}

/** What is known about a version's content. */
export interface SeenContent {
  /** The members of this document's content; null if it is not stored. */
  readonly own: Members | null;
  /** The members of the content that the version has, or keeps if its document changes. */
  readonly kept: Members | null;
}

interface SyncedVerdict {
  readonly verdict: Verdict;
  /** The webhooks that the verdict waits for and that have not been asked yet. */
  readonly unasked: readonly string[];
  /** Whether the verdict is an earlier rejection of this document. */
  readonly isRejectedAgain: boolean;
}

const STAYS: SyncedVerdict = { verdict: ADMIT, unasked: [], isRejectedAgain: false };

/**
 * Decides on one version of a sync. Applies the settings of its source, then earlier decisions on its
 * document, then webhooks and blocks.
 */
export function verdictOn(seen: SeenVersion, rules: SyncRules): SyncedVerdict {
  const { version, stored, isServed, items, held } = seen;
  const { admission, blocks, webhooks, now } = rules;
  const contents = contentsOf(version.type, seen.content.own);
  const arriving = verdictOnArriving(seen, contents, rules);
  // The usual case.
  if (
    isServed &&
    items.length === 0 &&
    blocks.length === 0 &&
    arriving.outcome === 'admit' &&
    !takesBack(admission, { name: version.name, contents })
  )
    return STAYS;
  // Served versions stay when the settings change. Once approved, a version can be held only by blocks.
  const isDecided = isServed || held?.isApproved === true;
  const rejection = isServed ? null : earlierRejection(seen);
  const facts = {
    name: version.name,
    version: version.version,
    publishedAt: version.publishedAt ?? null,
    firstSeenAt: held?.firstSeenAt ?? now,
    isKnownName: seen.isKnownName,
    isServed: stored !== undefined,
    contents,
  };
  const curated =
    arriving.outcome === 'admit' ? judged(curate(admission, facts, now), isDecided, rejection) : arriving;
  const unasked = isDecided ? [] : webhooks.filter((name) => held?.asked.includes(name) !== true);
  const waiting = isDecided ? [] : [...pendingReasons(held), ...unasked.map(waitingFor)];
  return {
    verdict: withReasons(curated, [...waiting, ...blockReasons(curated, rules, seen)]),
    unasked,
    isRejectedAgain: rejection !== null && curated === rejection,
  };
}

/** Decides about content that this sync stores for a version that was already served without it. */
function verdictOnArriving(
  { version: { name, version }, stored, isServed, content }: SeenVersion,
  contents: Contents,
  { admission, now }: SyncRules,
): Verdict {
  if (!stored || !isServed || !content.own || content.kept) return ADMIT;
  return curateContent(
    admission,
    { name, version, contents, publishedAt: new Date(stored.publishedAt) },
    now,
  );
}

/** Whether a document was rejected because a webhook failed, in which case that webhook is asked again. */
export function hasFailed(rejected: HeldVersion | undefined): boolean {
  return rejected?.reasons.some(({ failed }) => failed) === true;
}

/** Returns the verdict on a document that a person or webhook has already rejected. */
function earlierRejection({ rejected }: SeenVersion): Verdict | null {
  if (!rejected || hasFailed(rejected)) return null;
  const { reasons, isRejectedByPerson } = rejected;
  const answers = reasons.filter(({ policy }) => policy === 'webhook').map(({ message }) => message);
  const message = isRejectedByPerson || answers.length === 0 ? 'rejected here' : answers.join('; ');
  return { outcome: 'reject', reasons: [{ policy: 'rule', message }] };
}

/** Applies earlier decisions about this document to the verdict of the settings. */
function judged(verdict: Verdict, isDecided: boolean, rejection: Verdict | null): Verdict {
  if (verdict.outcome === 'reject') return verdict;
  if (verdict.outcome === 'hold' && verdict.takesBack) return rejection ?? verdict;
  if (rejection) return rejection;
  return isDecided ? ADMIT : verdict;
}

/**
 * Returns the webhooks' reasons for holding a version. After a reason has expired, the version only waits to be
 * admitted.
 */
function pendingReasons(held: HeldVersion | undefined): HoldReason[] {
  return (held?.reasons ?? []).filter(({ policy, dueAt }) => policy === 'webhook' && dueAt === undefined);
}

function blockReasons(
  verdict: Verdict,
  { blocks }: SyncRules,
  { version, content }: SeenVersion,
): HoldReason[] {
  if (blocks.length === 0 || verdict.outcome === 'reject') return [];
  return matchingBlocks(blocks, candidateOf(version, content.own ?? content.kept)).map(reasonOf);
}
