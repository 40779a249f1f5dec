import type { FoundEntry, SearchResult } from '../api/types.js';

export function totalOf({ facets }: Pick<SearchResult, 'facets'>): number {
  return Object.values(facets.type).reduce((sum, count) => sum + count, 0);
}

export type Counts = Readonly<Record<string, number>>;

/** The values of a filter, most frequent first. Values without a number exist but were not counted. */
export type ValueCounts = Readonly<Record<string, number | undefined>>;

export type FilterCounts = Readonly<
  Record<'type' | 'tag' | 'transport' | 'publisher' | 'installable', ValueCounts>
>;

/**
 * Combines the counts of several results. If all items were read, each entry counts once. Otherwise, publishers and installable
 * servers have no counts, and types, tags and transports have the server's if there is only one result: the sum of several would
 * count an entry once for each of its registries.
 */
export function countsOf(results: readonly SearchResult[]): FilterCounts {
  const items = [
    ...new Map(
      results.flatMap((result) => result.items).map((item) => [JSON.stringify([item.type, item.name]), item]),
    ).values(),
  ];
  const counted = (valuesOf: (item: FoundEntry) => readonly string[]) =>
    sumOf(items.flatMap((item) => valuesOf(item).map((value) => ({ [value]: 1 }))));
  const publisher = counted((item) => [namespaceOf(item)]);
  const installable = counted(({ type, installable: is }) => (type === 'server' ? [String(is)] : []));
  if (results.every((result) => result.items.length === totalOf(result)))
    return {
      type: counted(({ type }) => [type]),
      tag: counted(({ tags }) => [...new Set(tags)]),
      transport: counted(({ transports }) => [...new Set(transports)]),
      publisher,
      installable,
    };
  const ofFacet = (facet: 'type' | 'tag' | 'transport') => {
    const counts = sumOf(results.map(({ facets }) => facets[facet]));
    return results.length > 1 ? withoutNumbers(counts) : counts;
  };
  return {
    type: ofFacet('type'),
    tag: ofFacet('tag'),
    transport: ofFacet('transport'),
    publisher: withoutNumbers(publisher),
    installable: withoutNumbers(installable),
  };
}

function withoutNumbers(counts: Counts): ValueCounts {
  return Object.fromEntries(Object.keys(counts).map((value) => [value, undefined] as const));
}

function namespaceOf({ name }: FoundEntry): string {
  return name.slice(0, Math.max(0, name.indexOf('/')));
}

/** Adds up counts by value, the most frequent value first. */
function sumOf(counts: readonly Counts[]): Record<string, number> {
  const sums = new Map<string, number>();
  for (const each of counts)
    for (const [value, count] of Object.entries(each)) sums.set(value, (sums.get(value) ?? 0) + count);
  return Object.fromEntries(
    [...sums].sort(([one, more], [other, less]) => less - more || (one < other ? -1 : 1)),
  );
}
