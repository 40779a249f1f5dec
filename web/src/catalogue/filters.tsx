import type { JSX, TargetedKeyboardEvent } from 'preact';
import { useEffect, useId, useRef, useState } from 'preact/hooks';
import { ENTRY_TYPES, TYPE_LABELS } from '../api/entry-types.js';
import { useDebouncedText } from '../ui/filter-controls.js';
import { UntrustedText } from '../ui/untrusted-text.js';
import type { FilterCounts, ValueCounts } from './filter-counts.js';
import { publisherOf } from './publisher.js';
import { type CatalogueFilter, countFilters, NO_FILTER, type Sort, sortOf, SORTS } from './search.js';

interface Props {
  readonly filter: CatalogueFilter;
  readonly change: (to: Partial<CatalogueFilter>) => void;
}

const SEARCH_DELAY_MS = 150;
/** Values of a filter shown before "Show more". */
const VALUES_SHOWN = 8;

/** The search field and the sort order. */
export function SearchBar({ filter, change }: Props): JSX.Element {
  return (
    <form class="filters" role="search" onSubmit={(event) => event.preventDefault()}>
      <SearchField search={filter.search} change={change} />
      <label class="choice">
        <span>Sort</span>
        <select
          value={sortOf(filter)}
          onChange={({ currentTarget: { value } }) => change({ sort: value as Sort })}
        >
          {Object.entries(SORTS).map(([sort, label]) => (
            <option key={sort} value={sort}>
              {sort === 'relevance' && filter.search === '' ? 'Featured first' : label}
            </option>
          ))}
        </select>
      </label>
    </form>
  );
}

/** The filters with the number of entries for each value. On phones a button shows them. */
export function FilterPanel({
  filter,
  change,
  counts,
}: Props & { readonly counts: FilterCounts | undefined }): JSX.Element {
  const [isOpen, setOpen] = useState(false);
  const id = useId();
  const used = countFilters(filter);
  return (
    <aside class="filter-panel" aria-label="Filters">
      <button
        type="button"
        class="filter-toggle"
        aria-expanded={isOpen}
        aria-controls={id}
        onClick={() => setOpen(!isOpen)}
      >
        {used > 0 ? `Filters (${used})` : 'Filters'}
      </button>
      <div id={id} class={isOpen ? 'filter-groups is-open' : 'filter-groups'}>
        {used > 0 && (
          <button type="button" class="small" onClick={() => change({ ...NO_FILTER, search: filter.search })}>
            Clear filters
          </button>
        )}
        <FilterGroup
          title="Type"
          value={filter.type}
          counts={inOrder(counts?.type, ENTRY_TYPES)}
          labels={TYPE_LABELS}
          select={(type) => change({ type: type as CatalogueFilter['type'] })}
        />
        <FilterGroup
          title="Installation"
          value={filter.installable}
          counts={inOrder(counts?.installable, ['true', 'false'])}
          labels={INSTALLABLE_LABELS}
          select={(installable) => change({ installable: installable as CatalogueFilter['installable'] })}
        />
        <FilterGroup title="Tag" value={filter.tag} counts={counts?.tag} select={(tag) => change({ tag })} />
        <FilterGroup
          title="Transport"
          value={filter.transport}
          counts={counts?.transport}
          select={(transport) => change({ transport })}
        />
        <FilterGroup
          title="Publisher"
          value={filter.publisher}
          counts={counts?.publisher}
          labels={Object.fromEntries(
            Object.keys({ ...counts?.publisher, [filter.publisher]: 0 }).map((each) => [
              each,
              publisherOf(`${each}/`),
            ]),
          )}
          select={(publisher) => change({ publisher })}
        />
      </div>
    </aside>
  );
}

const INSTALLABLE_LABELS = { true: 'In editors and agents', false: 'ToolHive only or not at all' };

interface GroupProps {
  readonly title: string;
  readonly value: string;
  readonly counts: ValueCounts | undefined;
  readonly labels?: Readonly<Record<string, string>>;
  readonly select: (value: string) => void;
}

/** One filter as toggle buttons. A chosen value that matches nothing stays, so that it can be removed. */
function FilterGroup({ title, value, counts = {}, labels = {}, select }: GroupProps): JSX.Element {
  const [showsAll, setShowsAll] = useState(false);
  const values = Object.keys(counts).filter((each) => each !== '' && each !== value);
  const all = value === '' ? values : [value, ...values];
  if (all.length === 0) return <></>;
  return (
    <fieldset class="filter-group">
      <legend>{title}</legend>
      <ul>
        {(showsAll ? all : all.slice(0, VALUES_SHOWN)).map((each) => (
          <li key={each}>
            <button
              type="button"
              aria-pressed={each === value}
              onClick={() => select(each === value ? '' : each)}
            >
              <UntrustedText text={Object.hasOwn(labels, each) ? (labels[each] ?? each) : each} class="cut" />
              <CountOf value={each} counts={counts} />
              {each === value && (
                <span class="clear" aria-hidden="true">
                  ×
                </span>
              )}
            </button>
          </li>
        ))}
      </ul>
      {all.length > VALUES_SHOWN && !showsAll && (
        <button type="button" class="link" onClick={() => setShowsAll(true)}>
          Show more
        </button>
      )}
    </fieldset>
  );
}

function CountOf({ value, counts }: { value: string; counts: ValueCounts }): JSX.Element {
  // Publishers choose the values: one may be `constructor`.
  const count = Object.hasOwn(counts, value) ? counts[value] : undefined;
  return count === undefined ? <></> : <span class="muted">{count.toLocaleString('en')}</span>;
}

function inOrder<T>(
  counts: Readonly<Record<string, T>> | undefined,
  order: readonly string[],
): Readonly<Record<string, T>> | undefined {
  return (
    counts &&
    Object.fromEntries(
      Object.entries(counts).sort(([one], [other]) => order.indexOf(one) - order.indexOf(other)),
    )
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
    document.querySelector<HTMLElement>('li > a.card')?.focus();
  };
  return (
    <label class="search">
      <span class="hidden">Search by name, title, description or tag</span>
      <input
        ref={field}
        type="search"
        value={text}
        maxLength={500}
        autocomplete="off"
        spellcheck={false}
        placeholder="Search servers, skills and plugins"
        onInput={(event) => type(event.currentTarget.value)}
        onKeyDown={moveToResults}
      />
      <kbd aria-hidden="true">/</kbd>
    </label>
  );
}
