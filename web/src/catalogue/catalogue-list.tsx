import type { JSX } from 'preact';
import { pluralize } from '../ui/format.js';
import { EmptyState, Loading } from '../ui/query.js';
import { Refusal } from '../ui/refusal.js';
import { EntryCard } from './entry-card.js';
import type { EntrySummary } from './entry-summary.js';
import { type CatalogueFilter, needsLocalFilter } from './filters.js';
import { type CatalogueListState, useCatalogueList } from './use-catalogue-list.js';
import { useScrollRestoration } from './use-scroll-restoration.js';
import { VirtualGrid } from './virtual-grid.js';

interface Props {
  readonly registry: string;
  readonly filter: CatalogueFilter;
  readonly reset: () => void;
}

export function CatalogueList({ registry, filter, reset }: Props): JSX.Element {
  const scroll = useScrollRestoration(JSON.stringify([registry, filter]));
  const list = useCatalogueList(registry, filter, scroll.count);
  scroll.update(list.items.length);
  const { items, isLoading, isComplete, failure } = list;
  if (failure && items.length === 0) return <Refusal failure={failure} retry={list.resume} />;
  const isEmpty = items.length === 0 && isComplete && !isLoading;
  const isScanning = isLoading && list.scanned > 0 && needsLocalFilter(filter);
  return (
    <div class={list.isStale ? 'results is-stale' : 'results'}>
      <p class="count" role="status">
        {isScanning || isEmpty || (items.length === 0 && isLoading) ? ' ' : countText(list, filter)}
      </p>
      {items.length === 0 && isLoading && !isScanning && <Loading />}
      {isEmpty && (isFiltered(filter) ? <NoMatches reset={reset} /> : <EmptyRegistry filter={filter} />)}
      {items.length > 0 && (
        <VirtualGrid<EntrySummary>
          items={items}
          rowHeight={144}
          minWidth={330}
          label={`${filter.type}s`}
          keyOf={({ type, name, version }) => `${type} ${name} ${version}`}
          onNearEnd={list.loadMore}
        >
          {(entry) => <EntryCard registry={registry} entry={entry} />}
        </VirtualGrid>
      )}
      {failure && <Refusal failure={failure} retry={list.resume} />}
      {(isScanning || list.isPaused) && <ScanProgress list={list} filter={filter} />}
    </div>
  );
}

/** Progress of local filtering, with a button to stop or continue. */
function ScanProgress({
  list,
  filter: { type },
}: {
  list: CatalogueListState;
  filter: CatalogueFilter;
}): JSX.Element {
  const { items, scanned, isPaused, stop, resume } = list;
  return (
    <p class="paused">
      {`${pluralize(items.length, 'match', 'matches')} in ${pluralize(scanned, type)}${isPaused ? '.' : '…'} `}
      <button type="button" class="small" onClick={isPaused ? resume : stop}>
        {isPaused ? 'Continue' : 'Stop'}
      </button>
    </p>
  );
}

function isFiltered({ search, status, transport, packageType }: CatalogueFilter): boolean {
  return [search, status, transport, packageType].some(Boolean);
}

function countText(
  { items, isComplete, scanned, isPaused }: CatalogueListState,
  { type }: CatalogueFilter,
): string {
  if (isPaused) return `${items.length.toLocaleString('en')} of the first ${pluralize(scanned, type)}`;
  return `${pluralize(items.length, type)}${isComplete ? '' : ' so far'}`;
}

function NoMatches({ reset }: { reset: () => void }): JSX.Element {
  return (
    <EmptyState title="No matching entries">
      <button type="button" onClick={reset}>
        Clear search and filters
      </button>
    </EmptyState>
  );
}

function EmptyRegistry({ filter: { type } }: { filter: CatalogueFilter }): JSX.Element {
  return (
    <EmptyState title={`No ${type}s to show in this registry`}>
      Entries appear when a source is synced or someone publishes. <a href="#/access">Access</a> explains why
      you can or cannot see an entry.
    </EmptyState>
  );
}
