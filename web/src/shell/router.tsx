import type { JSX } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import { CataloguePage } from '../catalogue/catalogue-page.js';
import { EntryPage } from '../entry/entry-page.js';
import { NEW_NAME, type Route } from '../navigation/route.js';
import { useSession } from '../session/session.js';
import { EmptyState, Loading } from '../ui/query.js';
import { escapeInvisible } from '../ui/untrusted-text.js';
import { PAGES } from './header.js';

const MAX_NAME_LENGTH = 100;

type Page = (props: { route: Route }) => JSX.Element;

/** Pages loaded on demand; the catalog is part of the main bundle. */
const LAZY_PAGES = new Map<string, () => Promise<Page>>(
  Object.entries({
    connect: () => import('../connect/connect-page.js').then(({ ConnectPage }) => ConnectPage),
    publish: () => import('../publish/publish-page.js').then(({ PublishRoutes }) => PublishRoutes),
    review: () => import('../admission/review-pages.js').then(({ ReviewRoutes }) => ReviewRoutes),
    sources: () => import('../sources/sources-page.js').then(({ SourceRoutes }) => SourceRoutes),
    registries: () => import('../registries/registries-page.js').then(({ RegistryRoutes }) => RegistryRoutes),
    access: () => import('../access/access-page.js').then(({ AccessRoutes }) => AccessRoutes),
    webhooks: () => import('../webhooks/webhooks-page.js').then(({ WebhookRoutes }) => WebhookRoutes),
    activity: () => import('../activity/activity-page.js').then(({ ActivityPage }) => ActivityPage),
  }),
);

export function CurrentPage({ route }: { route: Route }): JSX.Element {
  const [name = 'catalogue', registry, type] = route.path;
  const { settings } = useSession();
  const title = titleOf(route, settings.title);
  useEffect(() => {
    document.title = title;
  }, [title]);
  if (name === 'catalogue' && registry !== undefined && type !== undefined)
    return <EntryPage route={route} />;
  if (name === 'catalogue') return <CataloguePage key={registry ?? ''} route={route} />;
  if (LAZY_PAGES.has(name)) return <LazyPage key={name} name={name} route={route} />;
  return (
    <EmptyState title="Page not found" isPage>
      <a href="#/catalogue">Go to the catalog</a>
    </EmptyState>
  );
}

function LazyPage({ name, route }: { name: string; route: Route }): JSX.Element {
  const [page, setPage] = useState<{ readonly show: Page }>();
  const [hasFailed, setFailed] = useState(false);
  useEffect(() => {
    LAZY_PAGES.get(name)?.().then(
      (show) => setPage({ show }),
      () => setFailed(true),
    );
  }, [name]);
  if (hasFailed)
    return (
      <EmptyState title="This page could not be loaded" isPage>
        <p>The server may have been upgraded since you opened the web UI.</p>
        <p>
          <button type="button" onClick={() => location.reload()}>
            Reload
          </button>
        </p>
      </EmptyState>
    );
  if (!page) return <Loading />;
  return <page.show route={route} />;
}

/** `acme · Catalog · Registry` */
function titleOf({ path: [path = 'catalogue', ...rest] }: Route, site: string): string {
  const page = path === 'webhooks' ? 'Webhooks' : PAGES.find((each) => each.path === path)?.title;
  if (page === undefined) return site;
  const name = path === 'catalogue' ? (rest[2] ?? rest[0]) : path === 'publish' ? rest[1] : rest[0];
  const parts =
    name === undefined || name === NEW_NAME
      ? [page]
      : [escapeInvisible(name.slice(0, MAX_NAME_LENGTH)), page];
  return [...parts, site].join(' · ');
}
