import type { JSX } from 'preact';
import type { AuditQuery } from '../api/types.js';
import { hashOf, replaceHash, type Route } from '../navigation/route.js';
import { isOffered, useSession } from '../session/session.js';
import { CursorList } from '../ui/cursor-list.js';
import { EmptyState, QueryResult, useQuery } from '../ui/query.js';
import { Table } from '../ui/table.js';
import { type EventFilter, eventFilterFromQuery, EventFilters } from './event-filters.js';
import { EventRow } from './event-row.js';
import { ExportEvents } from './export-events.js';
import { readEvents } from './read-events.js';

const PER_PAGE = 100;
const COLUMNS = ['Time', 'Action', 'Actor', 'Target', { title: 'Details', isHidden: true }];

/** Query parameters; empty values are omitted. */
function parametersOf(
  { action, actor, target, outcome, since, until }: EventFilter,
  cursor?: string,
): AuditQuery {
  const values = { action, actor, target, outcome, since: toUtc(since), until: toUtc(until), cursor };
  return {
    limit: PER_PAGE,
    ...Object.fromEntries(Object.entries(values).filter(([, value]) => value !== undefined && value !== '')),
  };
}

// A datetime-local value has no time zone; the user's zone applies.
function toUtc(local: string): string {
  const time = new Date(local);
  return Number.isNaN(time.getTime()) ? '' : time.toISOString();
}

export function ActivityPage({ route }: { route: Route }): JSX.Element {
  const session = useSession();
  const filter = eventFilterFromQuery(route.query);
  const key = JSON.stringify(filter);
  const query = useQuery(key, (signal) => readEvents(parametersOf(filter), signal));
  const change = (to: Partial<EventFilter>) =>
    replaceHash(hashOf(['activity'], { ...filter, ...to } as EventFilter));
  const isFiltered = Object.values(filter).some((value) => value !== '');
  return (
    <>
      <div class="page-head">
        <h1>Activity</h1>
        <p class="buttons">
          {isOffered(session, 'superAdmin') && <a href="#/webhooks">Webhooks</a>}
          <button type="button" onClick={query.refetch} disabled={query.isLoading}>
            Refresh
          </button>
        </p>
      </div>
      <EventFilters filter={filter} change={change} />
      <ExportEvents query={parametersOf(filter)} />
      <QueryResult query={query}>
        {(first) =>
          first.items.length === 0 && first.next === undefined ? (
            <EmptyState title={isFiltered ? 'No matching events' : 'No events'}>
              {isFiltered ? (
                <button type="button" onClick={() => replaceHash('#/activity')}>
                  Clear filters
                </button>
              ) : (
                'Changes, syncs and refused requests appear here for everything you manage.'
              )}
            </EmptyState>
          ) : (
            <CursorList
              key={first.items[0]?.id ?? first.next}
              first={first}
              read={(cursor) => readEvents(parametersOf(filter, cursor))}
              moreLabel="Earlier events"
            >
              {(all) => (
                <Table columns={COLUMNS} class="events">
                  {all.map((event) => (
                    <EventRow key={event.id} event={event} />
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
