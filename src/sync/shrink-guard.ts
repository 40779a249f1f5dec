import { FetchError } from '../outbound/fetch-error.js';
import { isGuardedFromShrinking, KINDS } from '../source-kinds/kinds.js';
import type { LeasedSource } from '../sources/source-leases.queries.js';
import type { ReadEntries } from './entry-validator.js';

/** Sources with fewer entries may lose any number of them. */
const MIN_GUARDED_ENTRIES = 20;

/** Returns whether a source of 20 entries or more has lost more than half of them (reference/sources). */
export function hasShrunk(before: number, after: number): boolean {
  return before >= MIN_GUARDED_ENTRIES && after * 2 < before;
}

/** @throws FetchError if the source has shrunk. */
export function checkNotShrunk(before: number, after: number): void {
  if (hasShrunk(before, after)) throw new FetchError(shrunkSentence(before, after));
}

export function shrunkSentence(before: number, after: number): string {
  return (
    `The content has shrunk from ${before} entries to ${after}, which may be an accident; if it is intended, ` +
    'sync once with the body {"allowShrink": true}, or set allowShrink: true for the source'
  );
}

/** Returns whether the shrink guard applies. It does not apply after a change to the settings or filter. */
export function isGuarded({ kind, settings, mayShrink, fetchState }: LeasedSource): boolean {
  return !mayShrink && fetchState !== null && isGuardedFromShrinking(kind, settings);
}

/**
 * Refuses an empty source, because syncing it would remove all its entries (reference/sources).
 *
 * @param countBefore counts the current entries.
 * @throws FetchError
 */
export async function checkNotEmpty(
  source: LeasedSource,
  { entries, skipped, filtered }: ReadEntries,
  countBefore: () => Promise<number>,
): Promise<void> {
  if (entries.length + skipped.length + filtered > 0) return;
  if (source.mayShrink && isGuardedFromShrinking(source.kind, source.settings)) return;
  checkNotShrunk(isGuarded(source) ? await countBefore() : 0, 0);
  throw new FetchError(`The ${KINDS[source.kind].content} has no entries`);
}
