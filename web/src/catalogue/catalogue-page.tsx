import type { JSX } from 'preact';
import { useCallback, useEffect } from 'preact/hooks';
import { api, unwrap } from '../api/client.js';
import { hashOf, navigate, replaceHash, type Route } from '../navigation/route.js';
import { LogInButtons } from '../session/log-in-buttons.js';
import { useSession } from '../session/session.js';
import { EmptyState, QueryResult, useQuery } from '../ui/query.js';
import { CatalogueList } from './catalogue-list.js';
import { type CatalogueFilter, filterFromQuery, Filters, queryOf } from './filters.js';

export function CataloguePage({ route }: { route: Route }): JSX.Element {
  const { settings, token } = useSession();
  const [, registry] = route.path;
  const isLoggedOut = settings.mode === 'oauth' && token === null;
  if (registry === undefined) return isLoggedOut ? <Welcome /> : <FirstRegistry />;
  return <Catalogue registry={registry} route={route} isLoggedOut={isLoggedOut} />;
}

function useRegistries(isEnabled: boolean) {
  return useQuery(isEnabled ? 'registries' : null, (signal) => unwrap(api.GET('/registry', { signal })));
}

/** Redirects to the first registry that the caller can access. */
function FirstRegistry(): JSX.Element {
  const query = useRegistries(true);
  const first = query.value?.registries[0]?.name;
  useEffect(() => {
    if (first !== undefined) replaceHash(hashOf(['catalogue', first]));
  }, [first]);
  return (
    <QueryResult query={query}>
      {({ registries }) =>
        registries.length === 0 ? (
          <EmptyState title="You don't have access to any registry">
            Access to a registry depends on your claims. Ask an administrator which claims you need.
          </EmptyState>
        ) : null
      }
    </QueryResult>
  );
}

interface Props {
  readonly registry: string;
  readonly route: Route;
  readonly isLoggedOut: boolean;
}

function Catalogue({ registry, route, isLoggedOut }: Props): JSX.Element {
  const registries = useRegistries(!isLoggedOut);
  const names = registries.value?.registries.map(({ name }) => name) ?? [];
  const text = route.query.toString();
  const filter = filterFromQuery(new URLSearchParams(text));
  const change = useCallback(
    (to: Partial<CatalogueFilter>) => {
      const now = filterFromQuery(new URLSearchParams(text));
      replaceHash(hashOf(['catalogue', registry], queryOf({ ...now, ...to })));
    },
    [registry, text],
  );
  return (
    <>
      <div class="page-head">
        <h1>Catalogue</h1>
        {(names.length > 1 || (names.length === 1 && !names.includes(registry))) && (
          <label class="choice">
            <span>Registry</span>
            <select
              value={registry}
              onChange={(event) =>
                navigate(hashOf(['catalogue', event.currentTarget.value], queryOf(filter)))
              }
            >
              {(names.includes(registry) ? names : [registry, ...names]).map((name) => (
                <option key={name} value={name}>
                  {name}
                </option>
              ))}
            </select>
          </label>
        )}
      </div>
      <Filters filter={filter} change={change} />
      <CatalogueList registry={registry} filter={filter} reset={() => change(NO_FILTER)} />
    </>
  );
}

const NO_FILTER: Partial<CatalogueFilter> = { search: '', status: '', transport: '', packageType: '' };

/** Shown in oauth mode before the log-in. */
function Welcome(): JSX.Element {
  return (
    <section class="welcome">
      <h1>MCP servers and skills for your team</h1>
      <p>Log in to see the registries and entries you have access to.</p>
      <LogInButtons />
    </section>
  );
}
