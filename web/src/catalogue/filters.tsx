import type { JSX, TargetedKeyboardEvent } from 'preact';
import { useEffect, useRef } from 'preact/hooks';
import { useTyped } from '../ui/use-typed.js';
import type { Narrowing } from './listed.js';

interface Props {
  readonly narrowing: Narrowing;
  readonly change: (to: Partial<Narrowing>) => void;
}

/** So long a pause in typing is a question. */
const PAUSE_MS = 120;

const TYPES = [
  ['server', 'Servers'],
  ['skill', 'Skills'],
  ['plugin', 'Plugins'],
] as const;
const TRANSPORTS = ['streamable-http', 'sse', 'stdio'];
const PACKAGES = {
  server: ['npm', 'pypi', 'oci', 'nuget', 'mcpb'],
  skill: ['oci', 'git'],
  plugin: ['oci', 'git'],
};
const STATUSES = {
  server: ['active', 'deprecated', 'deleted'],
  skill: ['active', 'deprecated', 'archived'],
  plugin: ['active', 'deprecated', 'archived'],
};

export function Filters({ narrowing, change }: Props): JSX.Element {
  const { type } = narrowing;
  return (
    <form class="filters" role="search" onSubmit={(event) => event.preventDefault()}>
      <SearchField search={narrowing.search} change={change} />
      <fieldset class="segments">
        <legend class="hidden">Type</legend>
        {TYPES.map(([value, label]) => (
          <label key={value}>
            <input
              type="radio"
              name="type"
              value={value}
              checked={type === value}
              onChange={() => change({ type: value, status: '', transport: '', packageType: '' })}
            />
            <span>{label}</span>
          </label>
        ))}
      </fieldset>
      <Choice
        label="Status"
        value={narrowing.status}
        all={STATUSES[type]}
        pick={(status) => change({ status })}
      />
      {type === 'server' && (
        <Choice
          label="Transport"
          value={narrowing.transport}
          all={TRANSPORTS}
          pick={(transport) => change({ transport })}
        />
      )}
      <Choice
        label="Package"
        value={narrowing.packageType}
        all={PACKAGES[type]}
        pick={(packageType) => change({ packageType })}
      />
    </form>
  );
}

function SearchField({ search, change }: { search: string; change: Props['change'] }): JSX.Element {
  const [text, type] = useTyped(search, (typed) => change({ search: typed }), PAUSE_MS);
  const field = useRef<HTMLInputElement>(null);
  useEffect(() => {
    const press = (event: KeyboardEvent) => {
      const { target } = event;
      const isTyping = target instanceof HTMLElement && /^(INPUT|TEXTAREA|SELECT)$/.test(target.tagName);
      if (event.key !== '/' || isTyping || event.ctrlKey || event.metaKey || event.altKey) return;
      event.preventDefault();
      field.current?.focus();
    };
    window.addEventListener('keydown', press);
    return () => window.removeEventListener('keydown', press);
  }, []);
  const leave = (event: TargetedKeyboardEvent<HTMLInputElement>) => {
    if (event.key !== 'ArrowDown') return;
    event.preventDefault();
    document.querySelector<HTMLElement>('ul.virtual li > a')?.focus();
  };
  return (
    <label class="search">
      <span class="hidden">Search by name, title or description</span>
      <input
        ref={field}
        type="search"
        value={text}
        maxLength={500}
        autocomplete="off"
        spellcheck={false}
        placeholder="Search"
        onInput={(event) => type(event.currentTarget.value)}
        onKeyDown={leave}
      />
      <kbd aria-hidden="true">/</kbd>
    </label>
  );
}

interface ChoiceProps {
  readonly label: string;
  readonly value: string;
  readonly all: readonly string[];
  readonly pick: (value: string) => void;
}

function Choice({ label, value, all, pick }: ChoiceProps): JSX.Element {
  return (
    <label class="choice">
      <span>{label}</span>
      <select value={value} onChange={(event) => pick(event.currentTarget.value)}>
        <option value="">any</option>
        {[...new Set([...all, ...(value === '' ? [] : [value])])].map((each) => (
          <option key={each} value={each}>
            {each}
          </option>
        ))}
      </select>
    </label>
  );
}
