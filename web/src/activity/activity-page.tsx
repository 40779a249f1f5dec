import type { JSX } from 'preact';
import { answer, api } from '../api/client.js';
import type { AuditEvent } from '../api/types.js';
import { useAnswer } from '../api/use-answer.js';
import { hashOf, replaceHash, type Route } from '../navigation/route.js';
import { Answered } from '../ui/answered.js';
import { CursorList, type CursorPage } from '../ui/cursor-list.js';
import { Empty } from '../ui/empty.js';
import { Table } from '../ui/table.js';
import { EventRow } from './event-row.js';
import { type EventFilter, EventFilters, filterOf } from './event-filters.js';

const PER_PAGE = 100;
const COLUMNS = ['When', 'What', 'Who', 'To what', { title: 'More', isHidden: true }];

/** An empty value is absent. */
function questionOf({ action, actor, target, outcome, since, until }: EventFilter, cursor?: string) {
  const given = { action, actor, target, outcome, since: timeOf(since), until: timeOf(until), cursor };
  return {
    limit: PER_PAGE,
    ...Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined && value !== '')),
  };
}

// What a field for local times holds has no zone: it is that of whoever looks at it.
function timeOf(local: string): string {
  const time = new Date(local);
  return Number.isNaN(time.getTime()) ? '' : time.toISOString();
}

export function ActivityPage({ route }: { route: Route }): JSX.Element {
  const filter = filterOf(route.query);
  const key = JSON.stringify(filter);
  const asked = useAnswer(key, (signal) => readEvents(filter, undefined, signal));
  const change = (to: Partial<EventFilter>) =>
    replaceHash(hashOf(['activity'], { ...filter, ...to } as EventFilter));
  const isNarrowed = Object.values(filter).some((value) => value !== '');
  return (
    <>
      <div class="page-head">
        <h1>Activity</h1>
        <button type="button" onClick={asked.again} disabled={asked.isWaiting}>
          Look again
        </button>
      </div>
      <EventFilters filter={filter} change={change} />
      <Answered asked={asked}>
        {(first) =>
          first.items.length === 0 ? (
            <Empty title={isNarrowed ? 'No event that you may see matches' : 'No events that you may see'}>
              {isNarrowed ? (
                <button type="button" onClick={() => replaceHash('#/activity')}>
                  Clear the filters
                </button>
              ) : (
                'Changes, syncs and refusals stand here, as far as you manage what they are about.'
              )}
            </Empty>
          ) : (
            <CursorList
              key={first.items[0]?.id}
              first={first}
              read={(cursor) => readEvents(filter, cursor)}
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
      </Answered>
    </>
  );
}

async function readEvents(
  filter: EventFilter,
  cursor: string | undefined,
  signal?: AbortSignal,
): Promise<CursorPage<AuditEvent>> {
  const query = questionOf(filter, cursor);
  const { events, metadata } = await answer(
    api.GET('/v1/audit', { params: { query }, ...(signal ? { signal } : {}) }),
  );
  return { items: events, next: metadata.nextCursor };
}
