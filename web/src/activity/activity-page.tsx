import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import { answer, api } from '../api/client.js';
import type { AuditEvent } from '../api/types.js';
import { useAnswer } from '../api/use-answer.js';
import { hashOf, replaceHash, type Route } from '../navigation/route.js';
import { useAct } from '../ui/act.js';
import { Answered } from '../ui/answered.js';
import { Empty } from '../ui/empty.js';
import { Refusal } from '../ui/refusal.js';
import { EventRow } from './event-row.js';
import { type EventFilter, EventFilters, filterOf } from './event-filters.js';

const PER_PAGE = 100;

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
  const asked = useAnswer(key, (signal) =>
    answer(api.GET('/v1/audit', { params: { query: questionOf(filter) }, signal })),
  );
  const change = (to: Partial<EventFilter>) =>
    replaceHash(hashOf(['activity'], { ...filter, ...to } as EventFilter));
  const isNarrowed = Object.values(filter).some((value) => value !== '');
  return (
    <>
      <div class="page-head">
        <h1>Activity</h1>
        <button type="button" onClick={asked.again}>
          Look again
        </button>
      </div>
      <EventFilters filter={filter} change={change} />
      <Answered asked={asked}>
        {({ events, metadata }) =>
          events.length === 0 ? (
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
            <Events key={events[0]?.id} first={events} next={metadata.nextCursor} filter={filter} />
          )
        }
      </Answered>
    </>
  );
}

interface EventsProps {
  readonly first: readonly AuditEvent[];
  readonly next: string | undefined;
  readonly filter: EventFilter;
}

function Events({ first, next, filter }: EventsProps): JSX.Element {
  const [state, setState] = useState({ events: first, next });
  const more = useAct(async () => {
    const { events, metadata } = await answer(
      api.GET('/v1/audit', { params: { query: questionOf(filter, state.next) } }),
    );
    setState({ events: [...state.events, ...events], next: metadata.nextCursor });
  });
  return (
    <>
      <div class="table-frame">
        <table class="events">
          <thead>
            <tr>
              <th scope="col">When</th>
              <th scope="col">What</th>
              <th scope="col">Who</th>
              <th scope="col">To what</th>
              <th scope="col">
                <span class="hidden">More</span>
              </th>
            </tr>
          </thead>
          <tbody>
            {state.events.map((event) => (
              <EventRow key={event.id} event={event} />
            ))}
          </tbody>
        </table>
      </div>
      {more.failure && <Refusal failure={more.failure} again={more.run} />}
      {state.next !== undefined && (
        <p class="paused">
          <button type="button" onClick={more.run} disabled={more.isUnderWay}>
            Earlier events
          </button>
        </p>
      )}
    </>
  );
}
