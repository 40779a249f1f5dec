import { isGuardedFromShrinking } from '../source-kinds/kinds.js';
import type { LeasedSource } from '../sources/source-leases.queries.js';
import type { ReadEntries } from './entry-reader.js';
import { FetchError } from './fetcher.js';

/** A source of fewer entries may lose any number of them. */
const FEWEST_GUARDED = 20;

/** contract §7: has a source of 20 entries or more kept fewer than half of them? */
export function hasShrunk(before: number, after: number): boolean {
  return before >= FEWEST_GUARDED && after * 2 < before;
}

/** What has happened, and how it is allowed. */
export function shrunkSentence(before: number, after: number): string {
  return (
    `The content has shrunk from ${before} entries to ${after}, which is taken for an accident; if it is meant, ` +
    'sync once with the body {"allowShrink": true}, or set allowShrink: true for the source'
  );
}

/** What another server fills, and what was not read by other settings or another filter before: those are changed on purpose. */
export function isGuarded({ kind, settings, mayShrink, fetchState }: LeasedSource): boolean {
  return !mayShrink && fetchState !== null && isGuardedFromShrinking(kind, settings);
}

/**
 * contract §7: nothing at all is taken for an accident, whatever there was before: it would withdraw everything.
 *
 * @param countBefore how many entries there were.
 * @throws FetchError
 */
export async function checkHolds(
  source: LeasedSource,
  { entries, skipped, filtered }: ReadEntries,
  countBefore: () => Promise<number>,
): Promise<void> {
  if (entries.length + skipped.length + filtered > 0) return;
  if (source.mayShrink && isGuardedFromShrinking(source.kind, source.settings)) return;
  const before = isGuarded(source) ? await countBefore() : 0;
  if (hasShrunk(before, 0)) throw new FetchError(shrunkSentence(before, 0));
  throw new FetchError(`The ${source.kind === 'api' ? 'registry' : 'file'} holds no entries`);
}
