import type { JSX } from 'preact';
import { useCallback, useEffect } from 'preact/hooks';
import { api, unwrap } from '../api/client.js';
import { hashOf, navigate, rememberResults, replaceHash, type Route } from '../navigation/route.js';
import { LogInButtons } from '../session/log-in-buttons.js';
import { useSession } from '../session/session.js';
import { QueryResult, useQuery } from '../ui/query.js';
import { CatalogueList } from './catalogue-list.js';
import { SearchBar } from './filters.js';
import { NoRegistries } from './no-registries.js';
import { Overview } from './overview.js';
import { type CatalogueFilter, countFilters, filterFromQuery, NO_FILTER, queryOf } from './search.js';

/** `#/catalogue` for all registries, `#/catalogue/{registry}` for one. */
export function CataloguePage({ route }: { route: Route }): JSX.Element {
  const { settings, token } = useSession();
  const [, registry] = route.path;
  const isLoggedOut = settings.mode === 'oauth' && token === null;
  if (registry === undefined && isLoggedOut) return <Welcome />;
  return <Catalogue registry={registry} route={route} isLoggedOut={isLoggedOut} />;
}

interface Props {
  readonly registry: string | undefined;
  readonly route: Route;
  readonly isLoggedOut: boolean;
}

function Catalogue({ registry, route, isLoggedOut }: Props): JSX.Element {
  const registries = useQuery(isLoggedOut ? null : 'registries', (signal) =>
    unwrap(api.GET('/registry', { signal })),
  );
  const names = registries.value?.registries.map(({ name }) => name) ?? [];
  const text = route.query.toString();
  const filter = filterFromQuery(new URLSearchParams(text));
  const change = useCallback(
    (to: Partial<CatalogueFilter>) => {
      const now = filterFromQuery(new URLSearchParams(text));
      const path = registry === undefined ? ['catalogue'] : ['catalogue', registry];
      replaceHash(hashOf(path, queryOf({ ...now, ...to })));
    },
    [registry, text],
  );
  const isSearch = filter.search !== '' || countFilters(filter) > 0;
  useEffect(() => rememberResults(isSearch ? location.hash : null), [registry, text, isSearch]);
  const reset = () => change(NO_FILTER);
  return (
    <>
      <div class="page-head">
        <h1>Catalog</h1>
        <RegistryChoice registry={registry} names={names} filter={filter} />
      </div>
      <SearchBar filter={filter} change={change} />
      {registry !== undefined ? (
        <CatalogueList registry={registry} registries={names} filter={filter} change={change} reset={reset} />
      ) : (
        <QueryResult query={registries}>
          {() =>
            names.length === 0 ? (
              <NoRegistries />
            ) : (
              <Overview registries={names} filter={filter} change={change} reset={reset} />
            )
          }
        </QueryResult>
      )}
    </>
  );
}

interface ChoiceProps {
  readonly registry: string | undefined;
  readonly names: readonly string[];
  readonly filter: CatalogueFilter;
}

function RegistryChoice({ registry = '', names, filter }: ChoiceProps): JSX.Element {
  const all = registry === '' || names.includes(registry) ? names : [registry, ...names];
  return (
    <div class="buttons">
      {all.length > 0 && (
        <label class="choice">
          <span>Registry</span>
          <select
            value={registry}
            onChange={({ currentTarget: { value } }) =>
              navigate(hashOf(value === '' ? ['catalogue'] : ['catalogue', value], queryOf(filter)))
            }
          >
            <option value="">All registries</option>
            {all.map((name) => (
              <option key={name} value={name}>
                {name}
              </option>
            ))}
          </select>
        </label>
      )}
      {registry !== '' && (
        <a class="button" href={hashOf(['connect', registry])}>
          Connect
        </a>
      )}
    </div>
  );
}

/** Shown in oauth mode before login. */
function Welcome(): JSX.Element {
  return (
    <section class="welcome">
      <h1>MCP servers and skills for your team</h1>
      <p>Log in to see the MCP servers, skills and plugins available to you.</p>
      <LogInButtons />
      <p>
        <a href="./docs">API documentation</a>
      </p>
    </section>
  );
}
