import type { JSX } from 'preact';
import { Empty } from '../ui/empty.js';
import { Refusal } from '../ui/refusal.js';
import { VirtualGrid } from '../ui/virtual-grid.js';
import { Waiting } from '../ui/waiting.js';
import { EntryCard } from './entry-card.js';
import type { Listed, Narrowing } from './listed.js';
import { usePlace } from './use-place.js';
import { type List, useList } from './use-list.js';

interface Props {
  readonly registry: string;
  readonly narrowing: Narrowing;
  readonly reset: () => void;
}

const WORDS = {
  server: ['server', 'servers'],
  skill: ['skill', 'skills'],
  plugin: ['plugin', 'plugins'],
} as const;

export function CatalogueList({ registry, narrowing, reset }: Props): JSX.Element {
  const place = usePlace();
  const list = useList(registry, narrowing, place.count);
  place.keep(list.items.length);
  const isNarrowed = [narrowing.search, narrowing.status, narrowing.transport, narrowing.packageType].some(
    Boolean,
  );
  if (list.failure && list.items.length === 0) return <Refusal failure={list.failure} again={list.again} />;
  const isEmpty = list.items.length === 0 && list.isWhole && !list.isWaiting;
  return (
    <div class={list.isWaiting ? 'results is-waiting' : 'results'}>
      <p class="count" role="status">
        {isEmpty || (list.items.length === 0 && list.isWaiting) ? ' ' : countText(list, narrowing)}
      </p>
      {list.items.length === 0 && list.isWaiting && <Waiting />}
      {isEmpty && (isNarrowed ? <NothingFound reset={reset} /> : <NothingThere narrowing={narrowing} />)}
      {list.items.length > 0 && (
        <VirtualGrid<Listed>
          items={list.items}
          rowHeight={144}
          minWidth={330}
          label={WORDS[narrowing.type][1]}
          keyOf={({ type, name, version }) => `${type} ${name} ${version}`}
          nearEnd={list.more}
        >
          {(listed) => <EntryCard registry={registry} listed={listed} />}
        </VirtualGrid>
      )}
      {list.failure && list.items.length > 0 && <Refusal failure={list.failure} again={list.again} />}
      {list.hasPaused && (
        <p class="paused">
          {list.looked.toLocaleString('en')} entries were looked at.{' '}
          <button type="button" onClick={list.again}>
            Look further
          </button>
        </p>
      )}
    </div>
  );
}

function countText({ items, isWhole, looked, hasPaused }: List, { type }: Narrowing): string {
  const number = items.length.toLocaleString('en');
  const [one, many] = WORDS[type];
  if (hasPaused) return `${number} of the first ${looked.toLocaleString('en')} ${many}`;
  return `${number} ${items.length === 1 ? one : many}${isWhole ? '' : ' so far'}`;
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
    <Empty title={`This registry has no ${WORDS[type][1]} that you may see`}>
      It fills when one of its sources is synced, or when somebody publishes to it.{' '}
      <a href="#/access">Access</a> says why you see an entry, or do not.
    </Empty>
  );
}
