import type { JSX } from 'preact';
import type { FoundEntry } from '../api/types.js';
import { pluralize } from '../ui/format.js';
import { EmptyState, Loading } from '../ui/query.js';
import { Refusal } from '../ui/refusal.js';
import { EntryCard } from './entry-card.js';
import { FilterPanel } from './filters.js';
import { type CatalogueFilter, countFilters } from './search.js';
import { useCatalogueList } from './use-catalogue-list.js';
import { useScrollRestoration } from './use-scroll-restoration.js';
import { VirtualGrid } from './virtual-grid.js';

interface Props {
  readonly registry: string;
  readonly filter: CatalogueFilter;
  readonly change: (to: Partial<CatalogueFilter>) => void;
  readonly reset: () => void;
}

/** The search results of one registry, beside the filters. */
export function CatalogueList({ registry, filter, change, reset }: Props): JSX.Element {
  const scroll = useScrollRestoration(JSON.stringify([registry, filter]));
  const list = useCatalogueList(registry, filter, scroll.count);
  scroll.update(list.items.length);
  const { items, total, isLoading, failure } = list;
  if (failure && items.length === 0) return <Refusal failure={failure} retry={list.resume} />;
  return (
    <div class="catalogue">
      <FilterPanel filter={filter} change={change} counts={list.counts} />
      <div class={list.isStale ? 'results is-stale' : 'results'}>
        <p class="count" role="status">
          {total === undefined || (total === 0 && isLoading) ? ' ' : pluralize(total, 'entry', 'entries')}
        </p>
        {items.length === 0 && isLoading && <Loading />}
        {items.length === 0 && !isLoading && <NothingFound filter={filter} reset={reset} />}
        {items.length > 0 && (
          <VirtualGrid<FoundEntry>
            items={items}
            rowHeight={172}
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
