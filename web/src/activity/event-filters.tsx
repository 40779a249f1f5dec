import type { JSX } from 'preact';
import { useTyped } from '../ui/use-typed.js';

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

/** The words that the API takes; another one that stands in the address is kept, and refused by it in its words. */
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
];
const PAUSE_MS = 300;

export function filterOf(query: URLSearchParams): EventFilter {
  const of = (name: string) => query.get(name) ?? '';
  return {
    action: of('action'),
    actor: of('actor'),
    target: of('target'),
    outcome: of('outcome'),
    since: of('since'),
    until: of('until'),
  };
}

export function EventFilters({ filter, change }: Props): JSX.Element {
  const actions = [...new Set([...ACTIONS, ...(filter.action === '' ? [] : [filter.action])])];
  return (
    <form class="filters" role="search" onSubmit={(event) => event.preventDefault()}>
      <label class="choice">
        <span>What</span>
        <select value={filter.action} onChange={(event) => change({ action: event.currentTarget.value })}>
          <option value="">anything</option>
          {actions.map((action) => (
            <option key={action} value={action}>
              {action}
            </option>
          ))}
        </select>
      </label>
      <label class="choice">
        <span>Outcome</span>
        <select value={filter.outcome} onChange={(event) => change({ outcome: event.currentTarget.value })}>
          <option value="">any</option>
          <option value="allowed">allowed</option>
          <option value="refused">refused</option>
        </select>
      </label>
      <TextFilter
        label="Who"
        placeholder="subject"
        value={filter.actor}
        change={(actor) => change({ actor })}
      />
      <TextFilter
        label="To what"
        placeholder="name"
        value={filter.target}
        change={(target) => change({ target })}
      />
      <TimeFilter label="Since" value={filter.since} change={(since) => change({ since })} />
      <TimeFilter label="Until" value={filter.until} change={(until) => change({ until })} />
    </form>
  );
}

interface TextFilterProps {
  readonly label: string;
  readonly placeholder: string;
  readonly value: string;
  readonly change: (value: string) => void;
}

function TextFilter({ label, placeholder, value, change }: TextFilterProps): JSX.Element {
  const [text, type] = useTyped(value, change, PAUSE_MS);
  return (
    <label class="choice">
      <span>{label}</span>
      <input
        type="search"
        placeholder={placeholder}
        maxLength={300}
        spellcheck={false}
        autocomplete="off"
        value={text}
        onInput={(event) => type(event.currentTarget.value)}
      />
    </label>
  );
}

function TimeFilter({ label, value, change }: Omit<TextFilterProps, 'placeholder'>): JSX.Element {
  return (
    <label class="choice">
      <span>{label}</span>
      <input type="datetime-local" value={value} onChange={(event) => change(event.currentTarget.value)} />
    </label>
  );
}
