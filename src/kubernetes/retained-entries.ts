import type { Claims } from '../claims/claims.js';
import { TimeSlice } from '../json/time-slice.js';
import { type EntryFilter, passesFilter } from '../sources/entry-filter.js';
import { ENTRY_PREFIX, readStored } from './read-object.js';
import type { StoredEntries } from './stored-entries.queries.js';

/** One kind in one namespace, or in all of them (null). */
interface Watched {
  readonly resource: { readonly kind: string };
  readonly namespace: string | null;
}

/** An entry that stays as it is stored, because nobody knows what has become of its object. */
export interface RetainedEntry {
  readonly outcome: 'retained';
  readonly claims: Claims;
}

/**
 * What is stored of those kinds and namespaces that have not been listed since this replica took the source over. What is
 * excluded by the filter of the source is not among it: that may be newer than what is stored.
 */
export class RetainedEntries<W extends Watched> {
  private constructor(private readonly byWatch: ReadonlyMap<W, Map<string, RetainedEntry>>) {}

  static none<W extends Watched>(): RetainedEntries<W> {
    return new RetainedEntries(new Map());
  }

  static async load<W extends Watched>(
    stored: StoredEntries,
    { id, filter }: { readonly id: number; readonly filter: EntryFilter | null },
    watches: readonly W[],
  ): Promise<RetainedEntries<W>> {
    if (watches.length === 0) return RetainedEntries.none();
    const slice = new TimeSlice();
    const byWatch = new Map(watches.map((watch) => [watch, new Map<string, RetainedEntry>()]));
    const prefixes = new Set(
      watches.map(({ namespace }) => (namespace === null ? ENTRY_PREFIX : `${ENTRY_PREFIX}${namespace}/`)),
    );
    for await (const { name, document, claims } of stored.beginningWith(id, [...prefixes])) {
      await slice.pause();
      const object = readStored(document);
      const watch = watches.find(
        ({ resource, namespace }) =>
          resource.kind === object?.kind &&
          (namespace === null || name.startsWith(`${ENTRY_PREFIX}${namespace}/`)),
      );
      if (!watch || !object || (filter && !passesFilter(filter, name, object.tags))) continue;
      byWatch.get(watch)?.set(name.slice(ENTRY_PREFIX.length), { outcome: 'retained', claims });
    }
    return new RetainedEntries(byWatch);
  }

  /** By `namespace/name`. */
  of(watch: W): ReadonlyMap<string, RetainedEntry> {
    return this.byWatch.get(watch) ?? new Map<string, RetainedEntry>();
  }

  /** Gives them up, once what they come from is listed: they are to be written anew, or removed. */
  release(watch: W): string[] {
    const released = [...this.of(watch).keys()];
    this.byWatch.get(watch)?.clear();
    return released;
  }

  /** Others have been written in place of these. */
  forget(names: Iterable<string>): void {
    for (const name of names) for (const entries of this.byWatch.values()) entries.delete(name);
  }
}
