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
