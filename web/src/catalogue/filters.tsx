import type { JSX, TargetedKeyboardEvent } from 'preact';
import { useEffect, useRef } from 'preact/hooks';
import { ENTRY_TYPES, isEntryType, statusesOf, TYPE_LABELS } from '../api/entry-types.js';
import type { EntryType } from '../api/types.js';
import { SelectFilter, useDebouncedText } from '../ui/filter-controls.js';
import type { EntrySummary } from './entry-summary.js';

/** Search and filters of the list, stored in the URL. */
export interface CatalogueFilter {
  readonly type: EntryType;
  readonly search: string;
  readonly status: string;
  readonly transport: string;
  readonly packageType: string;
}

export function filterFromQuery(query: URLSearchParams): CatalogueFilter {
  const type = query.get('type');
  return {
    type: isEntryType(type) ? type : 'server',
    search: query.get('search') ?? '',
    status: query.get('status') ?? '',
    transport: query.get('transport') ?? '',
    packageType: query.get('package') ?? '',
  };
}

export function queryOf({
  type,
  search,
  status,
  transport,
  packageType,
}: CatalogueFilter): Record<string, string> {
  return { type: type === 'server' ? '' : type, search, status, transport, package: packageType };
}

/** Returns whether the list must be filtered here: the API does not filter by transport, package or server status. */
export function needsLocalFilter({ type, status, transport, packageType }: CatalogueFilter): boolean {
  return transport !== '' || packageType !== '' || (type === 'server' && status !== '');
}

export function matchesLocalFilter(
  entry: EntrySummary,
  { status, transport, packageType }: CatalogueFilter,
): boolean {
  return (
    (status === '' || entry.status === status) &&
    (transport === '' || entry.transports.includes(transport)) &&
    (packageType === '' || entry.packageTypes.includes(packageType))
  );
}

interface Props {
  readonly filter: CatalogueFilter;
  readonly change: (to: Partial<CatalogueFilter>) => void;
}

const SEARCH_DELAY_MS = 120;

const TRANSPORTS = ['streamable-http', 'sse', 'stdio'];
const PACKAGES: Readonly<Record<EntryType, readonly string[]>> = {
  server: ['npm', 'pypi', 'oci', 'nuget', 'mcpb'],
  skill: ['oci', 'git'],
  plugin: ['oci', 'git'],
};

export function Filters({ filter, change }: Props): JSX.Element {
  const { type } = filter;
  return (
    <form class="filters" role="search" onSubmit={(event) => event.preventDefault()}>
      <SearchField search={filter.search} change={change} />
      <fieldset class="segments">
        <legend class="hidden">Type</legend>
        {ENTRY_TYPES.map((value) => (
          <label key={value}>
            <input
              type="radio"
              name="type"
              value={value}
              checked={type === value}
              onChange={() => change({ type: value, status: '', transport: '', packageType: '' })}
            />
            <span>{TYPE_LABELS[value]}</span>
          </label>
        ))}
      </fieldset>
      <SelectFilter
        label="Status"
        value={filter.status}
        options={statusesOf(type)}
        change={(status) => change({ status })}
      />
      {type === 'server' && (
        <SelectFilter
          label="Transport"
          value={filter.transport}
          options={TRANSPORTS}
          change={(transport) => change({ transport })}
        />
      )}
      <SelectFilter
        label="Package"
        value={filter.packageType}
        options={PACKAGES[type]}
        change={(packageType) => change({ packageType })}
      />
    </form>
  );
}

function SearchField({ search, change }: { search: string; change: Props['change'] }): JSX.Element {
  const [text, type] = useDebouncedText(search, (typed) => change({ search: typed }), SEARCH_DELAY_MS);
  const field = useRef<HTMLInputElement>(null);
  useEffect(() => {
    const focusOnSlash = (event: KeyboardEvent) => {
      const { target } = event;
      const isTyping = target instanceof HTMLElement && /^(INPUT|TEXTAREA|SELECT)$/.test(target.tagName);
      if (event.key !== '/' || isTyping || event.ctrlKey || event.metaKey || event.altKey) return;
      event.preventDefault();
      field.current?.focus();
    };
    window.addEventListener('keydown', focusOnSlash);
    return () => window.removeEventListener('keydown', focusOnSlash);
  }, []);
  const moveToResults = (event: TargetedKeyboardEvent<HTMLInputElement>) => {
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
        onKeyDown={moveToResults}
      />
      <kbd aria-hidden="true">/</kbd>
    </label>
  );
}
