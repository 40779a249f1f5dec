import type { Claims } from '../../claims/claims.js';
import type { SettingsOf, SyncedKind } from '../../source-kinds/kinds.js';
import type { EntryFilter } from '../filter/entry-filter.js';
import type { Origin } from '../source.entity.js';

/** A source that is synced, and whose lease a run of this replica holds; its kind gives the type of its settings. */
export type LeasedSource<K extends SyncedKind = SyncedKind> = {
  [P in K]: {
    readonly id: number;
    readonly name: string;
    readonly kind: P;
    readonly origin: Origin;
    readonly settings: SettingsOf<P>;
    readonly filter: EntryFilter | null;
    readonly claims: Claims;
    /** May this run lose most of the entries, by the settings or as it was asked for? */
    readonly mayShrink: boolean;
    readonly intervalMs: number;
    readonly contentDigest: Buffer | null;
    /** What the last run that succeeded left for the next one; null when there is none, or the settings have changed since. */
    readonly fetchState: unknown;
    /** Runs since the last one that succeeded, this one included. */
    readonly attempts: number;
    /** Whether a sync has been requested since the last one that succeeded. */
    readonly isRequested: boolean;
  };
}[K];

/** A source of kind kubernetes whose lease this replica holds. */
export interface WatchedSource {
  readonly id: number;
  readonly name: string;
  readonly origin: Origin;
  readonly settings: SettingsOf<'kubernetes'>;
  readonly filter: EntryFilter | null;
}
