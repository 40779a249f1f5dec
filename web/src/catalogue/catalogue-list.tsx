import type { JSX } from 'preact';
import type { FoundEntry, SearchResult } from '../api/types.js';
import { hashOf } from '../navigation/route.js';
import { pluralize } from '../ui/format.js';
import { EmptyState, Loading, useQuery } from '../ui/query.js';
import { Refusal } from '../ui/refusal.js';
import { UntrustedText } from '../ui/untrusted-text.js';
import { totalOf } from './filter-counts.js';
import { EntryCard } from './entry-card.js';
import { FilterPanel } from './filters.js';
import { newest } from './merge-results.js';
import {
  type CatalogueFilter,
  countFilters,
  loosenessOf,
  NEWEST,
  NEWEST_PAGE,
  queryOf,
  readSearch,
  SORTS,
} from './search.js';
import { useCatalogueList } from './use-catalogue-list.js';
import { useScrollRestoration } from './use-scroll-restoration.js';
import { VirtualGrid } from './virtual-grid.js';

interface Props {
  readonly registry: string;
  /** All registries that the caller may search. */
  readonly registries: readonly string[];
  readonly filter: CatalogueFilter;
  readonly change: (to: Partial<CatalogueFilter>) => void;
  readonly reset: () => void;
}

/** The search results of one registry, next to the filters. */
export function CatalogueList({ registry, registries, filter, change, reset }: Props): JSX.Element {
  const scroll = useScrollRestoration(JSON.stringify([registry, filter]));
  const list = useCatalogueList(registry, filter, scroll.count);
  scroll.update(list.items.length);
  const { items, total, isLoading, failure } = list;
  const isStart = filter.search === '' && filter.sort === '' && countFilters(filter) === 0;
  // Waits for the main search, because the server limits concurrent searches per caller.
  const fresh = useQuery(isStart && !list.isStale && items.length > 0 ? registry : null, (signal) =>
    readSearch(registry, NEWEST, NEWEST_PAGE, signal),
  );
  const isReady = fresh.value !== undefined || !fresh.isLoading;
  if (failure && items.length === 0) return <Refusal failure={failure} retry={list.resume} />;
  return (
    <div class="catalogue">
      <FilterPanel filter={filter} change={change} counts={list.counts} />
      <div class={list.isStale ? 'results is-stale' : 'results'}>
        <div class="count-line">
          <p class="count" role="status">
            {total === undefined || (total === 0 && isLoading) ? ' ' : pluralize(total, 'entry', 'entries')}
          </p>
          <Loosely {...list.how} />
          {/** Waits for the main search, because the server limits concurrent searches per caller. */}
          {filter.search !== '' && !list.isStale && !isLoading && (
            <Elsewhere registry={registry} registries={registries} filter={filter} />
          )}
        </div>
        {(items.length === 0 ? isLoading : !isReady) && <Loading />}
        {items.length === 0 && !isLoading && <NothingFound filter={filter} reset={reset} />}
        {isStart && fresh.value && <NewEntries registry={registry} result={fresh.value} />}
        {items.length > 0 && isReady && (
          <VirtualGrid<FoundEntry>
            items={items}
            rowHeight={filter.search === '' ? 146 : 168}
            minWidth={330}
            label="Entries"
            keyOf={({ type, name }) => `${type} ${name}`}
            onNearEnd={list.loadMore}
          >
            {(entry) => <EntryCard registry={registry} entry={entry} />}
          </VirtualGrid>
        )}
        {failure && <Refusal failure={failure} retry={list.resume} />}
      </div>
    </div>
  );
}

/** If fewer entries state a date, there is no news to show. */
const MIN_NEW = 3;

/** One row of new entries above the whole list. */
function NewEntries({ registry, result }: { registry: string; result: SearchResult }): JSX.Element {
  const entries = newest([{ registry, result }]);
  if (entries.length < MIN_NEW) return <></>;
  return (
    <>
      <section class="new-entries is-row">
        <div class="section-head">
          <h2>{SORTS.updated}</h2>
          <a href={hashOf(['catalogue', registry], queryOf(NEWEST))}>Show all by date</a>
        </div>
        <ul class="card-grid" aria-label={SORTS.updated}>
          {entries.map(({ entry }) => (
            <li key={`${entry.type} ${entry.name}`}>
              <EntryCard registry={registry} entry={entry} />
            </li>
          ))}
        </ul>
      </section>
      <h2>All entries</h2>
    </>
  );
}

const MAX_WORDS_LENGTH = 100;

/** Explains why no entry matches every typed word: lists the corrected words, or says that some are missing. */
export function Loosely({ corrected, partial }: Partial<SearchResult['metadata']>): JSX.Element {
  return (
    <>
      {partial && <p>No entry has all of these words. The closest come first.</p>}
      {corrected && (
        <p>
          Showing results for{' '}
          <b>
            <UntrustedText text={corrected.join(' ').slice(0, MAX_WORDS_LENGTH)} class="break" />
          </b>
        </p>
      )}
    </>
  );
}

/** Maximum number of other registries to search: each search reads a whole registry. */
const MAX_OTHERS = 5;

/** The results of the search in other registries. */
function Elsewhere({
  registry,
  registries,
  filter,
}: Pick<Props, 'registry' | 'registries' | 'filter'>): JSX.Element {
  const others = registries.filter((name) => name !== registry).slice(0, MAX_OTHERS);
  const key = others.length > 0 ? JSON.stringify([others, filter]) : null;
  const { value: found = [] } = useQuery(key, async (signal) => {
    const counts: { readonly name: string; readonly count: number }[] = [];
    for (const name of others) {
      const result = await readSearch(name, filter, { limit: 1 }, signal).catch(() => undefined);
      signal.throwIfAborted();
      // Corrected or missing words make it a different search.
      if (result && loosenessOf(result.metadata) === 0) counts.push({ name, count: totalOf(result) });
    }
    return counts.filter(({ count }) => count > 0);
  });
  if (found.length === 0) return <></>;
  return (
    <p class="elsewhere">
      Also in{' '}
      {found.map(({ name, count }, index) => (
        <span key={name}>
          {index > 0 && ', '}
          <a href={hashOf(['catalogue', name], queryOf(filter))}>
            <UntrustedText text={name} />
          </a>{' '}
          <span class="muted">{count.toLocaleString('en')}</span>
        </span>
      ))}
    </p>
  );
}

export function NothingFound({ filter, reset }: { filter: CatalogueFilter; reset: () => void }): JSX.Element {
  if (filter.search !== '' || countFilters(filter) > 0)
    return (
      <EmptyState title="No matches">
        <button type="button" onClick={reset}>
          Clear search and filters
        </button>
        <p class="below">
          Did you expect an entry? <a href="#/access">Access</a> explains whether you can see it.
        </p>
      </EmptyState>
    );
  return (
    <EmptyState title="Nothing to show yet">
      Entries appear here when a source is synced or someone publishes one that you have access to.{' '}
      <a href="#/access">Access</a> explains why you can or cannot see an entry.
    </EmptyState>
  );
}
