import type { JSX } from 'preact';
import { SelectFilter, TextFilter } from '../ui/filter-controls.js';

export interface EventFilter extends Record<string, string> {
  readonly action: string;
  readonly actor: string;
  readonly target: string;
  readonly outcome: string;
  readonly since: string;
  readonly until: string;
}

interface Props {
  readonly filter: EventFilter;
  readonly change: (to: Partial<EventFilter>) => void;
}

const ACTIONS = [
  'entry.publish',
  'entry.status',
  'entry.claims.update',
  'entry.delete',
  'source.create',
  'source.update',
  'source.delete',
  'source.sync',
  'sync.run',
  'registry.create',
  'registry.update',
  'registry.delete',
  'config.apply',
  'auth.refused',
  'request.refused',
  'catalog.read',
  'access.read',
  'admission.hold',
  'admission.admit',
  'admission.approve',
  'admission.reject',
  'admission.comment',
  'admission.withdraw',
  'block.create',
  'block.update',
  'block.delete',
  'webhook.resume',
  'webhook.replay',
];

export function eventFilterFromQuery(query: URLSearchParams): EventFilter {
  const get = (name: string) => query.get(name) ?? '';
  return {
    action: get('action'),
    actor: get('actor'),
    target: get('target'),
    outcome: get('outcome'),
    since: get('since'),
    until: get('until'),
  };
}

export function EventFilters({ filter, change }: Props): JSX.Element {
  return (
    <form class="filters" role="search" onSubmit={(event) => event.preventDefault()}>
      <SelectFilter
        label="Action"
        value={filter.action}
        options={ACTIONS}
        change={(action) => change({ action })}
      />
      <SelectFilter
        label="Outcome"
        value={filter.outcome}
        options={['allowed', 'refused']}
        change={(outcome) => change({ outcome })}
      />
      <TextFilter
        label="Actor"
        placeholder="subject or name"
        value={filter.actor}
        change={(actor) => change({ actor })}
      />
      <TextFilter
        label="Target"
        placeholder="name"
        value={filter.target}
        change={(target) => change({ target })}
      />
      <TimeFilter label="Since" value={filter.since} change={(since) => change({ since })} />
      <TimeFilter label="Until" value={filter.until} change={(until) => change({ until })} />
    </form>
  );
}

interface TimeFilterProps {
  readonly label: string;
  readonly value: string;
  readonly change: (value: string) => void;
}

function TimeFilter({ label, value, change }: TimeFilterProps): JSX.Element {
  return (
    <label class="choice">
      <span>{label}</span>
      <input type="datetime-local" value={value} onChange={(event) => change(event.currentTarget.value)} />
    </label>
  );
}
