import type { JSX } from 'preact';
import { ENTRY_TYPES } from '../api/entry-types.js';
import type { AdmissionItem, AdmissionQuery } from '../api/types.js';
import { hashOf, replaceHash, type Route } from '../navigation/route.js';
import { useSession } from '../session/session.js';
import { CursorList } from '../ui/cursor-list.js';
import { SelectFilter, TextFilter } from '../ui/filter-controls.js';
import { Ago } from '../ui/format.js';
import { EmptyState, QueryResult, useQuery } from '../ui/query.js';
import { Table } from '../ui/table.js';
import { UntrustedText } from '../ui/untrusted-text.js';
import {
  HoldReasons,
  ItemStatusBadge,
  PersonName,
  POLICY_LABELS,
  readItems,
  STATUS_LABELS,
} from './items.js';

const PER_PAGE = 50;
const COLUMNS = ['Entry', 'Why it waits', 'Source', 'Published by', 'Since'];

/** Sections of the queue; the selected one is in the URL. */
const VIEWS = [
  ['', 'Waiting'],
  ['decide', 'For me to decide'],
  ['mine', 'Published by me'],
  ['decided', 'Decided'],
] as const;

/** The default status filter for decided items. */
const DECIDED = 'admitted';

type QueueFilter = Readonly<Record<'view' | 'status' | 'reason' | 'source' | 'type' | 'name', string>>;

function filterFrom(query: URLSearchParams): QueueFilter {
  const get = (key: string) => query.get(key) ?? '';
  return {
    view: get('view'),
    status: get('status'),
    reason: get('reason'),
    source: get('source'),
    type: get('type'),
    name: get('name'),
  };
}

function parametersOf({ view, ...filter }: QueueFilter, cursor?: string): AdmissionQuery {
  const present = Object.entries({ ...filter, cursor: cursor ?? '' }).filter(([, value]) => value !== '');
  return {
    limit: PER_PAGE,
    ...(view === 'decided' ? { status: DECIDED } : {}),
    ...(view === 'decide' ? { decidable: true } : view === 'mine' ? { mine: true } : {}),
    ...(Object.fromEntries(present) as AdmissionQuery),
  };
}

/** The held versions and changes that the person sees. */
export function QueuePage({ route }: { route: Route }): JSX.Element {
  const filter = filterFrom(route.query);
  const key = JSON.stringify(filter);
  const query = useQuery(key, (signal) => readItems(parametersOf(filter), signal));
  const change = (to: Partial<QueueFilter>) => replaceHash(hashOf(['review'], { ...filter, ...to }));
  const isFiltered = Object.entries(filter).some(([name, value]) => name !== 'view' && value !== '');
  return (
    <>
      <div class="page-head">
        <h1>Review</h1>
        <button type="button" onClick={query.refetch} disabled={query.isLoading}>
          Refresh
        </button>
      </div>
      <QueueFilters filter={filter} change={change} />
      <QueryResult query={query}>
        {(first) =>
          first.items.length === 0 ? (
            <EmptyQueue filter={filter} isFiltered={isFiltered} />
          ) : (
            <CursorList
              key={`${key} ${first.items[0]?.id ?? ''}`}
              first={first}
              read={(cursor) => readItems(parametersOf(filter, cursor))}
              moreLabel="More"
            >
              {(items) => (
                <Table columns={COLUMNS} class="queue">
                  {items.map((item) => (
                    <ItemRow key={item.id} item={item} />
                  ))}
                </Table>
              )}
            </CursorList>
          )
        }
      </QueryResult>
    </>
  );
}

interface QueueFiltersProps {
  readonly filter: QueueFilter;
  readonly change: (to: Partial<QueueFilter>) => void;
}

function QueueFilters({ filter, change }: QueueFiltersProps): JSX.Element {
  const { view, status, reason, source, type, name } = filter;
  const first = view === 'decided' ? DECIDED : 'held';
  return (
    <form class="filters" role="search" onSubmit={(event) => event.preventDefault()}>
      <fieldset class="segments">
        <legend class="hidden">Show</legend>
        {VIEWS.map(([value, label]) => (
          <label key={value}>
            <input
              type="radio"
              name="view"
              value={value}
              checked={view === value}
              onChange={() => change({ view: value, status: '' })}
            />
            <span>{label}</span>
          </label>
        ))}
      </fieldset>
      {(view === 'mine' || view === 'decided' || status !== '') && (
        <SelectFilter
          label="Status"
          value={status}
          none={STATUS_LABELS[first]}
          options={Object.keys(STATUS_LABELS).filter((each) => each !== first && each !== 'held')}
          labels={STATUS_LABELS}
          change={(to) => change({ status: to })}
        />
      )}
      <SelectFilter
        label="Reason"
        value={reason}
        options={Object.keys(POLICY_LABELS)}
        labels={POLICY_LABELS}
        change={(to) => change({ reason: to })}
      />
      <SelectFilter label="Type" value={type} options={ENTRY_TYPES} change={(to) => change({ type: to })} />
      <TextFilter label="Source" placeholder="name" value={source} change={(to) => change({ source: to })} />
      <TextFilter label="Entry" placeholder="full name" value={name} change={(to) => change({ name: to })} />
    </form>
  );
}

function EmptyQueue({ filter, isFiltered }: { filter: QueueFilter; isFiltered: boolean }): JSX.Element {
  if (isFiltered)
    return (
      <EmptyState title="No matches">
        <button type="button" onClick={() => replaceHash(hashOf(['review'], { view: filter.view }))}>
          Clear filters
        </button>
      </EmptyState>
    );
  if (filter.view === 'decided')
    return (
      <EmptyState title="Nothing has been decided">Decisions about what you review appear here.</EmptyState>
    );
  if (filter.view === 'decide')
    return (
      <EmptyState title="Nothing to decide">
        Versions that need your approval appear here, and their number in the menu.
      </EmptyState>
    );
  if (filter.view === 'mine')
    return (
      <EmptyState title="Nothing of yours is waiting">
        Versions and changes that you publish appear here while they wait for review.
      </EmptyState>
    );
  return (
    <EmptyState title="Nothing is waiting">
      New versions appear here until they are approved, or until their waiting period is over.
    </EmptyState>
  );
}

function ItemRow({ item }: { item: AdmissionItem }): JSX.Element {
  const { me } = useSession();
  const { id, type, name, version, status, reasons, source, publisher, firstSeenAt, change } = item;
  return (
    <tr>
      <th scope="row">
        <a href={hashOf(['review', id])}>
          <UntrustedText text={name} class="break" />
        </a>{' '}
        {version !== undefined && <UntrustedText text={version} class="break version" />}{' '}
        {type !== 'server' && <span class="badge plain">{type}</span>}{' '}
        {change && <span class="badge plain">change to {change.claims ? 'claims' : 'status'}</span>}{' '}
        {status !== 'held' && <ItemStatusBadge status={status} />}
      </th>
      <td>
        <HoldReasons reasons={reasons} />
      </td>
      <td>
        <UntrustedText text={source} class="break" />
      </td>
      <td>{publisher ? <PersonName person={publisher} me={me} /> : <span class="muted">a sync</span>}</td>
      <td>
        <Ago at={firstSeenAt} />
      </td>
    </tr>
  );
}
