import type { JSX } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import { CataloguePage } from '../catalogue/catalogue-page.js';
import { EntryPage } from '../entry/entry-page.js';
import type { Route } from '../navigation/route.js';
import { NEW } from '../declared/declared-things.js';
import { Empty } from '../ui/empty.js';
import { visible } from '../ui/visible.js';
import { Waiting } from '../ui/waiting.js';
import { wordFor } from '../api/word-for.js';

type Page = (props: { route: Route }) => JSX.Element;

/** Everybody reads the catalogue; the rest is loaded for who goes there. */
const LATER: Readonly<Record<string, () => Promise<Page>>> = {
  publish: () => import('../publish/publish-place.js').then(({ PublishPlace }) => PublishPlace),
  sources: () => import('../sources/sources-place.js').then(({ SourcesPlace }) => SourcesPlace),
  registries: () =>
    import('../registries/registries-place.js').then(({ RegistriesPlace }) => RegistriesPlace),
  access: () => import('../access/access-page.js').then(({ AccessPage }) => AccessPage),
  activity: () => import('../activity/activity-page.js').then(({ ActivityPage }) => ActivityPage),
};

export function Place({ route }: { route: Route }): JSX.Element {
  const [name = 'catalogue', registry, type] = route.path;
  const title = titleOf(route);
  useEffect(() => {
    document.title = title;
  }, [title]);
  if (name === 'catalogue' && registry !== undefined && type !== undefined)
    return <EntryPage route={route} />;
  if (name === 'catalogue') return <CataloguePage key={registry ?? ''} route={route} />;
  if (wordFor(LATER, name)) return <Later key={name} name={name} route={route} />;
  return (
    <Empty title="There is no such page">
      <a href="#/catalogue">To the catalogue</a>
    </Empty>
  );
}

function Later({ name, route }: { name: string; route: Route }): JSX.Element {
  const [page, setPage] = useState<{ readonly show: Page }>();
  const [isLost, setLost] = useState(false);
  useEffect(() => {
    wordFor(LATER, name)?.().then(
      (show) => setPage({ show }),
      () => setLost(true),
    );
  }, [name]);
  if (isLost)
    return (
      <Empty title="This part of the page could not be loaded">
        <p>The server may have been upgraded meanwhile.</p>
        <p>
          <button type="button" onClick={() => location.reload()}>
            Load the page again
          </button>
        </p>
      </Empty>
    );
  if (!page) return <Waiting />;
  return <page.show route={route} />;
}

/** The most specific thing that the address names, and the page it stands on. */
function titleOf({ path: [place = 'catalogue', ...rest] }: Route): string {
  const page = wordFor(TITLES, place);
  if (page === undefined) return 'Registry';
  const name = place === 'catalogue' ? (rest[2] ?? rest[0]) : place === 'publish' ? rest[1] : rest[0];
  const parts = name === undefined || name === NEW ? [page] : [visible(name.slice(0, LONGEST_NAME)), page];
  return [...parts, 'Registry'].join(' · ');
}

const LONGEST_NAME = 100;
const TITLES: Readonly<Record<string, string>> = {
  catalogue: 'Catalogue',
  publish: 'Publish',
  sources: 'Sources',
  registries: 'Registries',
  access: 'Access',
  activity: 'Activity',
};
