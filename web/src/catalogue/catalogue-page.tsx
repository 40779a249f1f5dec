import type { JSX } from 'preact';
import { useCallback, useEffect } from 'preact/hooks';
import { answer, api } from '../api/client.js';
import { useAnswer } from '../api/use-answer.js';
import { goTo, hashOf, replaceHash, type Route } from '../navigation/route.js';
import { useSession } from '../session/session.js';
import { Answered } from '../ui/answered.js';
import { Empty } from '../ui/empty.js';
import { Welcome } from '../shell/welcome.js';
import { CatalogueList } from './catalogue-list.js';
import { Filters } from './filters.js';
import { type Narrowing, narrowingOf, queryOf } from './listed.js';

export function CataloguePage({ route }: { route: Route }): JSX.Element {
  const { settings, token } = useSession();
  const [, registry] = route.path;
  const isNobody = settings.mode === 'oauth' && token === null;
  if (registry === undefined) return isNobody ? <Welcome /> : <FirstRegistry />;
  return <Catalogue registry={registry} route={route} isNobody={isNobody} />;
}

function useRegistries(isAsked: boolean) {
  return useAnswer(isAsked ? 'registries' : null, (signal) => answer(api.GET('/registry', { signal })));
}

/** The first of those that the caller may enter, in the order of the configuration. */
function FirstRegistry(): JSX.Element {
  const asked = useRegistries(true);
  const first = asked.value?.registries[0]?.name;
  useEffect(() => {
    if (first !== undefined) replaceHash(hashOf(['catalogue', first]));
  }, [first]);
  return (
    <Answered asked={asked}>
      {({ registries }) =>
        registries.length === 0 ? (
          <Empty title="There is no registry that you may enter">
            Registries are entered by claims: ask whoever runs this server which ones yours would have to be.
          </Empty>
        ) : null
      }
    </Answered>
  );
}

interface Props {
  readonly registry: string;
  readonly route: Route;
  readonly isNobody: boolean;
}

function Catalogue({ registry, route, isNobody }: Props): JSX.Element {
  const registries = useRegistries(!isNobody);
  const names = registries.value?.registries.map(({ name }) => name) ?? [];
  const text = route.query.toString();
  const narrowing = narrowingOf(new URLSearchParams(text));
  const change = useCallback(
    (to: Partial<Narrowing>) => {
      const now = narrowingOf(new URLSearchParams(text));
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
              onChange={(event) => goTo(hashOf(['catalogue', event.currentTarget.value], queryOf(narrowing)))}
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
      <Filters narrowing={narrowing} change={change} />
      <CatalogueList registry={registry} narrowing={narrowing} reset={() => change(NOTHING)} />
    </>
  );
}

const NOTHING: Partial<Narrowing> = { search: '', status: '', transport: '', packageType: '' };
