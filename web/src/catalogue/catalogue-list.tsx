import type { JSX } from 'preact';
import { counted } from '../ui/counted.js';
import { Empty } from '../ui/empty.js';
import { Refusal } from '../ui/refusal.js';
import { VirtualGrid } from '../ui/virtual-grid.js';
import { Waiting } from '../ui/waiting.js';
import { EntryCard } from './entry-card.js';
import { isNarrowedHere, type Listed, type Narrowing } from './listed.js';
import { usePlace } from './use-place.js';
import { type List, useList } from './use-list.js';

interface Props {
  readonly registry: string;
  readonly narrowing: Narrowing;
  readonly reset: () => void;
}

export function CatalogueList({ registry, narrowing, reset }: Props): JSX.Element {
  const place = usePlace(JSON.stringify([registry, narrowing]));
  const list = useList(registry, narrowing, place.count);
  place.keep(list.items.length);
  const { items, isWaiting, isWhole, failure } = list;
  if (failure && items.length === 0) return <Refusal failure={failure} again={list.again} />;
  const isEmpty = items.length === 0 && isWhole && !isWaiting;
  const isLooking = isWaiting && list.looked > 0 && isNarrowedHere(narrowing);
  return (
    <div class={list.isBefore ? 'results is-before' : 'results'}>
      <p class="count" role="status">
        {isLooking || isEmpty || (items.length === 0 && isWaiting) ? ' ' : countText(list, narrowing)}
      </p>
      {items.length === 0 && isWaiting && !isLooking && <Waiting />}
      {isEmpty &&
        (isNarrowed(narrowing) ? <NothingFound reset={reset} /> : <NothingThere narrowing={narrowing} />)}
      {items.length > 0 && (
        <VirtualGrid<Listed>
          items={items}
          rowHeight={144}
          minWidth={330}
          label={`${narrowing.type}s`}
          keyOf={({ type, name, version }) => `${type} ${name} ${version}`}
          nearEnd={list.more}
        >
          {(listed) => <EntryCard registry={registry} listed={listed} />}
        </VirtualGrid>
      )}
      {failure && <Refusal failure={failure} again={list.again} />}
      {(isLooking || list.hasPaused) && <Looking list={list} narrowing={narrowing} />}
    </div>
  );
}

/** How far a list was looked through that is narrowed here, while it goes on, and when it no longer does. */
function Looking({ list, narrowing: { type } }: { list: List; narrowing: Narrowing }): JSX.Element {
  const { items, looked, hasPaused, stop, again } = list;
  return (
    <p class="paused">
      {`${items.length.toLocaleString('en')} of ${counted(looked, type)} looked at so far${hasPaused ? '.' : '…'} `}
      <button type="button" class="small" onClick={hasPaused ? again : stop}>
        {hasPaused ? 'Look further' : 'Stop'}
      </button>
    </p>
  );
}

function isNarrowed({ search, status, transport, packageType }: Narrowing): boolean {
  return [search, status, transport, packageType].some(Boolean);
}

function countText({ items, isWhole, looked, hasPaused }: List, { type }: Narrowing): string {
  if (hasPaused) return `${items.length.toLocaleString('en')} of the first ${counted(looked, type)}`;
  return `${counted(items.length, type)}${isWhole ? '' : ' so far'}`;
}

function NothingFound({ reset }: { reset: () => void }): JSX.Element {
  return (
    <Empty title="Nothing you may see matches">
      <button type="button" onClick={reset}>
        Clear search and filters
      </button>
    </Empty>
  );
}

function NothingThere({ narrowing: { type } }: { narrowing: Narrowing }): JSX.Element {
  return (
    <Empty title={`This registry has no ${type}s that you may see`}>
      It fills when one of its sources is synced, or when somebody publishes to it.{' '}
      <a href="#/access">Access</a> says why you see an entry, or do not.
    </Empty>
  );
}
