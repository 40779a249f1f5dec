import type { WatchState } from '../sources/source-states.queries.js';
import { describeCollection } from './custom-resources.js';

/** Errors and collections that are named one by one; the others are counted. */
const MAX_NAMED = 5;

/** How the watch of one kind is doing, in one namespace or in all of them (null). */
export interface WatchStatus {
  readonly resource: { readonly plural: string };
  readonly namespace: string | null;
  readonly isListed: boolean;
  readonly error: string | null;
  readonly failures: number;
}

/**
 * The state of a source from those of its watches. An error names the collections that are not current, unless none is.
 *
 * @param writeError why what they brought could not be written.
 * @param isWritten whether anything has been written yet.
 */
export function reportOf(
  watches: readonly WatchStatus[],
  writeError: string | null,
  isWritten: boolean,
): WatchState {
  const failing = watches.filter(({ error }) => error !== null);
  const attempts = Math.max(0, ...failing.map(({ failures }) => failures));
  const errors = [...new Set(failing.map(({ error }) => error ?? ''))];
  const isPartial = failing.length > 0 && failing.length < watches.length;
  const sentences = [
    ...named(errors, 'other errors'),
    ...(isPartial
      ? [
          `Not current: ${named(
            failing.map(({ resource: { plural }, namespace }) => describeCollection({ plural, namespace })),
            'others',
          ).join(', ')}`,
        ]
      : []),
    ...(writeError === null ? [] : [writeError]),
  ];
  if (sentences.length > 0) return { status: 'failed', error: sentences.join('; '), attempts };
  const isCurrent = isWritten && watches.every(({ isListed }) => isListed);
  return { status: isCurrent ? 'complete' : 'syncing', error: null, attempts };
}

function named(texts: readonly string[], others: string): string[] {
  const rest = texts.length - MAX_NAMED;
  return [...texts.slice(0, MAX_NAMED), ...(rest > 0 ? [`and ${rest} ${others}`] : [])];
}
