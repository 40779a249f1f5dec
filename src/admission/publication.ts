import type { Caller } from '../auth/caller.js';
import type { Claims } from '../claims/claims.js';
import type { EntryName, IncomingVersion } from '../documents/entry-types.js';
import type { Status } from '../documents/statuses.js';
import type { EntrySize } from '../entry-store/entry-limits.queries.js';
import { ApiError } from '../http/errors.js';
import type { ReviewRule } from './review-rules.js';
import type { HoldReason, ShownReason } from './hold-reason.js';

/** A change to a reviewed entry, or to one of its versions. */
export interface ItemChange {
  readonly claims?: Claims;
  readonly status?: Status;
  readonly statusMessage?: string | null;
}

/** A version to publish. */
export interface Publication {
  readonly source: PublishedSource;
  readonly version: IncomingVersion;
  /** The claims of the entry, as given. */
  readonly claims: Claims;
  readonly caller: Caller;
}

/** Returns the error for a refused publication, which the audit trail shows to managers of the entry. */
export function refusedPublication(
  code: 'blocked' | 'admission_rejected',
  { source, version: { type, name, version }, claims }: Publication,
  sentence: string,
  details?: readonly string[],
): ApiError {
  const refusedVersion = { type, name, version, source: source.name };
  return new ApiError(code, sentence, details, { refusedClaims: claims, refusedVersion });
}

/** A publication that no admission webhook rejects. */
export interface AskedPublication {
  /** The id of the item if the version is held. */
  readonly id: string;
  /** The reasons for which webhooks hold it. */
  readonly reasons: readonly HoldReason[];
  /** Webhooks to ask again, because they failed. */
  readonly failed: readonly string[];
}

export interface PublishedSource {
  readonly id: number;
  readonly name: string;
  readonly settings: { readonly review?: readonly ReviewRule[] };
}

/** The held versions of an entry. */
export interface Reservation {
  /** The claims under which held versions reserve the name; null if none is held. */
  readonly claims: Claims | null;
  readonly size: EntrySize;
  readonly hasVersion: boolean;
  /** Whether the caller published the held version. */
  readonly isOwn: boolean;
}

/** A held version or change as shown to its sender. */
export interface HeldAnswer {
  /** Absent in a dry run. */
  readonly id?: string;
  readonly status: 'held';
  readonly reasons: readonly ShownReason[];
}

/** A change to an entry that may need review. */
export interface ProposedChange {
  readonly source: PublishedSource;
  readonly entry: EntryName;
  /** Null for a change to the whole entry. */
  readonly version: string | null;
  readonly change: ItemChange;
  /** The current claims, as given. */
  readonly claims: Claims;
  readonly caller: Caller;
}
