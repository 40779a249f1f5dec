import { Fragment, type JSX } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import { type Failure, failureFrom } from '../api/client.js';
import type { SearchResult } from '../api/types.js';
import { TYPE_LABELS } from '../api/entry-types.js';
import { hashOf } from '../navigation/route.js';
import { pluralize } from '../ui/format.js';
import { Loading } from '../ui/query.js';
import { Refusal } from '../ui/refusal.js';
import { UntrustedText } from '../ui/untrusted-text.js';
import { Loosely, NothingFound } from './catalogue-list.js';
import { countsOf, totalOf } from './filter-counts.js';
import { EntryCard } from './entry-card.js';
import { FilterPanel } from './filters.js';
import { type MergedEntry, mergeResults, newest } from './merge-results.js';
import {
  type CatalogueFilter,
  countFilters,
  NEWEST,
  NEWEST_PAGE,
  queryOf,
  loosenessOf,
  readSearch,
  sortOf,
  SORTS,
} from './search.js';

interface Found {
  readonly registry: string;
  readonly result?: SearchResult;
  readonly failure?: Failure;
}

/** Maximum number of items read per registry. Up to this number of results, publishers can be counted. */
const PER_REGISTRY = 100;
const FIRST_PAGE = { limit: PER_REGISTRY };
/** Number of cards shown before "Show more". */
const FIRST_SHOWN = 6;
const MERGED_SHOWN = 30;
const TAGS_SHOWN = 20;
/** Number of registries searched before the user asks for more: each search reads a whole registry. */
const REGISTRIES_AT_ONCE = 10;

interface Props {
  readonly registries: readonly string[];
  readonly filter: CatalogueFilter;
  readonly change: (to: Partial<CatalogueFilter>) => void;
  readonly reset: () => void;
}

/** All registries: new entries in each, or one list with the best search results. */
export function Overview({ registries, filter, change, reset }: Props): JSX.Element {
  const [count, setCount] = useState(REGISTRIES_AT_ONCE);
  const { found, isLoading, retry } = useSearches(registries.slice(0, count), filter, FIRST_PAGE);
  // Corrected and missing words make it a different search, which matters only if no registry has all of the typed
  // ones.
  const looseness = Math.min(
    ...found.map(({ result }) =>
      result && result.items.length > 0 ? loosenessOf(result.metadata) : Infinity,
    ),
  );
  const answered = found.filter(({ result }) => !result || loosenessOf(result.metadata) <= looseness);
  const results = answered.flatMap(({ result }) => (result ? [result] : []));
  const matching = answered.filter(({ result, failure }) => failure || (result && result.items.length > 0));
  const { metadata: how = {} } = results.find(({ items }) => items.length > 0) ?? {};
  const isDone = found.length === Math.min(count, registries.length) && !isLoading;
  const isSearch = filter.search !== '' || countFilters(filter) > 0;
  return (
    <div class="catalogue">
      <FilterPanel filter={filter} change={change} counts={countsOf(results)} />
      <div class={isLoading ? 'results is-stale' : 'results'}>
        <div class="count-line">
          <p class="count" role="status">
            {results.length === 0 ? ' ' : summaryOf(matching.length > 0 ? matching : answered)}
          </p>
          <Loosely {...how} />
        </div>
        {found.length === 0 && <Loading />}
        <Failures found={found} retry={retry} isRetrying={isLoading} />
        {isSearch ? (
          <Fragment key={JSON.stringify(filter)}>
            <Registries
              matching={matching}
              filter={filter}
              countsOf={(result) => totalOf(result).toLocaleString('en')}
            />
            <MergedResults matching={matching} filter={filter} initial={MERGED_SHOWN} />
          </Fragment>
        ) : (
          matching.length > 0 && <Home matching={matching} filter={filter} />
        )}
        {isDone && matching.length === 0 && <NothingFound filter={filter} reset={reset} />}
        {isDone && count < registries.length && (
          <p class="paused">
            <button type="button" onClick={() => setCount(count + REGISTRIES_AT_ONCE)}>
              Keep searching
            </button>{' '}
            {`${count} of ${pluralize(registries.length, 'registry', 'registries')} searched`}
          </p>
        )}
      </div>
    </div>
  );
}

interface SectionProps {
  readonly matching: readonly Found[];
  readonly filter: CatalogueFilter;
}

/** The registries, their tags, the entries featured by administrators, and new entries. */
function Home({ matching, filter }: SectionProps): JSX.Element {
  const results = readable(matching);
  const tags = Object.entries(countsOf(results.map(({ result }) => result)).tag).slice(0, TAGS_SHOWN);
  const isSorted = filter.sort !== '';
  return (
    <>
      <Registries matching={matching} filter={filter} countsOf={typeCounts} />
      {tags.length > 0 && (
        <ul class="chips home-tags" aria-label="Tags">
          {tags.map(([tag, count]) => (
            <li key={tag}>
              <a class="chip" href={hashOf(['catalogue'], queryOf({ ...filter, tag }))}>
                <UntrustedText text={tag} /> <span class="muted">{count?.toLocaleString('en')}</span>
              </a>
            </li>
          ))}
        </ul>
      )}
      <section>
        <h2>{isSorted ? SORTS[sortOf(filter)] : 'Featured'}</h2>
        <MergedResults matching={matching} filter={filter} initial={isSorted ? MERGED_SHOWN : FIRST_SHOWN} />
      </section>
      {!isSorted && <NewEntries registries={results.map(({ registry }) => registry)} />}
    </>
  );
}

function NewEntries({ registries }: { registries: readonly string[] }): JSX.Element {
  const { found } = useSearches(registries, NEWEST, NEWEST_PAGE);
  const entries = newest(readable(found));
  if (entries.length === 0) return <></>;
  return (
    <section class="new-entries">
      <h2>{SORTS.updated}</h2>
      <Cards entries={entries} />
    </section>
  );
}

function Cards({ entries }: { entries: readonly MergedEntry[] }): JSX.Element {
  return (
    <ul class="card-grid" aria-label="Entries">
      {entries.map(({ entry, registries }) => (
        <li key={`${entry.type} ${entry.name}`}>
          <EntryCard registry={registries[0] ?? ''} entry={entry} />
        </li>
      ))}
    </ul>
  );
}

interface FailuresProps {
  readonly found: readonly Found[];
  readonly retry: () => void;
  readonly isRetrying: boolean;
}

/** The failed searches: one message per kind of failure, with its registries. */
function Failures({ found, retry, isRetrying }: FailuresProps): JSX.Element {
  const groups = new Map<string, { readonly failure: Failure; readonly registries: string[] }>();
  for (const { registry, failure } of found) {
    if (!failure) continue;
    const key = JSON.stringify([failure.code, failure.sentence, failure.details]);
    const group = groups.get(key) ?? { failure, registries: [] };
    groups.set(key, { failure, registries: [...group.registries, registry] });
  }
  return (
    <>
      {[...groups].map(([key, { failure, registries }]) => (
        <div key={key}>
          <p class="muted">
            Not searched: <UntrustedText text={registries.join(', ')} class="break" />
          </p>
          <Refusal failure={failure} retry={retry} isRetrying={isRetrying} />
        </div>
      ))}
    </>
  );
}

interface RegistriesProps extends SectionProps {
  readonly countsOf: (result: SearchResult) => string;
}

/** Links to the results in each registry. */
function Registries({ matching, filter, countsOf: text }: RegistriesProps): JSX.Element {
  return (
    <ul class="chips found-in" aria-label="Registries">
      {readable(matching).map(({ registry, result }) => (
        <li key={registry}>
          <a class="chip" href={hashOf(['catalogue', registry], queryOf(filter))}>
            <UntrustedText text={registry} /> <span class="muted">{text(result)}</span>
          </a>
        </li>
      ))}
    </ul>
  );
}

interface MergedProps extends SectionProps {
  /** Number of cards shown before "Show more". */
  readonly initial: number;
}

/** One list for all registries, with each entry once. */
function MergedResults({ matching, filter, initial }: MergedProps): JSX.Element {
  const [shown, setShown] = useState(initial);
  const results = readable(matching);
  const merged = mergeResults(results, sortOf(filter));
  return (
    <>
      <Cards entries={merged.slice(0, shown)} />
      {merged.length > shown && (
        <p class="below">
          <button type="button" onClick={() => setShown(shown + 2 * MERGED_SHOWN)}>
            Show more
          </button>
        </p>
      )}
      {merged.length <= shown && isCut(results) && (
        <p class="muted below">
          These are the first {PER_REGISTRY} from each registry. Choose a registry to see all.
        </p>
      )}
    </>
  );
}

type Readable = { readonly registry: string; readonly result: SearchResult };

function readable(found: readonly Found[]): readonly Readable[] {
  return found.flatMap(({ registry, result }) => (result ? [{ registry, result }] : []));
}

/** Whether a registry has more results than were read. */
function isCut(results: readonly Readable[]): boolean {
  return results.some(({ result }) => totalOf(result) > result.items.length);
}

/**
 * `471 entries in 2 registries`. An entry in several registries counts once, so if some results were not read, only a
 * minimum is known.
 */
function summaryOf(matching: readonly Found[]): string {
  const results = readable(matching);
  const where = `in ${pluralize(results.length, 'registry', 'registries')}`;
  const merged = mergeResults(results, 'name').length;
  const count = Math.max(merged, ...results.map(({ result }) => totalOf(result)));
  const isMinimum = isCut(results) && results.length > 1;
  return `${isMinimum ? 'At least ' : ''}${pluralize(count, 'entry', 'entries')} ${where}`;
}

/** `471 servers · 3 skills` */
function typeCounts({ facets }: SearchResult): string {
  return Object.entries(facets.type)
    .map(([type, count]) => {
      const label = TYPE_LABELS[type as keyof typeof TYPE_LABELS].toLowerCase();
      return pluralize(count, label.slice(0, -1), label);
    })
    .join(' · ');
}

interface Searches {
  readonly found: readonly Found[];
  readonly isLoading: boolean;
  /** Repeats the failed searches. */
  retry(): void;
}

/**
 * Searches registries one after another: the server limits the searches that one caller runs at a time. Results of the
 * previous search stay until the first new one arrives.
 */
function useSearches(
  registries: readonly string[],
  filter: CatalogueFilter,
  page: Parameters<typeof readSearch>[2],
): Searches {
  const search = JSON.stringify(filter);
  const [retries, setRetries] = useState(0);
  const key = JSON.stringify([registries, search, retries]);
  const [state, setState] = useState<{
    readonly key: string;
    readonly search: string;
    readonly found: readonly Found[];
  }>({ key, search, found: [] });
  useEffect(() => {
    const { signal, abort } = aborter();
    const known = state.search === search ? readable(state.found) : [];
    const found = new Map<string, Found>(known.map((each) => [each.registry, each]));
    const run = async () => {
      for (const registry of registries) {
        if (found.has(registry)) continue;
        const each = await readSearch(registry, filter, page, signal).then(
          (result) => ({ registry, result }),
          (thrown: unknown) => ({ registry, failure: failureFrom(thrown) }),
        );
        if (signal.aborted) return;
        found.set(registry, each);
        setState({ key, search, found: registries.flatMap((name) => found.get(name) ?? []) });
      }
    };
    void run();
    return abort;
    // The key includes the registries and the filter.
  }, [key]);
  return {
    found: state.found,
    isLoading: state.key !== key,
    retry: () => setRetries((before) => before + 1),
  };
}

function aborter(): { signal: AbortSignal; abort: () => void } {
  const controller = new AbortController();
  return { signal: controller.signal, abort: () => controller.abort() };
}
