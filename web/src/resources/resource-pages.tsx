import type { ComponentChildren, JSX } from 'preact';
import { useState } from 'preact/hooks';
import { hashOf, navigate, NEW_NAME, type Route } from '../navigation/route.js';
import { DangerButton } from '../ui/action.js';
import { CursorList, type CursorPage } from '../ui/cursor-list.js';
import { TextFilter } from '../ui/filter-controls.js';
import { EmptyState, QueryResult, useQuery } from '../ui/query.js';
import { Detail } from '../ui/table.js';
import { UntrustedText } from '../ui/untrusted-text.js';

/** Sources and registries, created in the configuration file (read-only here) or through the API. */
export const RESOURCES = {
  sources: { one: 'source', title: 'Sources' },
  registries: { one: 'registry', title: 'Registries' },
} as const;

/** A type is also the first path segment of its pages. */
export type ResourceType = keyof typeof RESOURCES;

interface Pages {
  readonly List: () => JSX.Element;
  readonly Form: (props: { name: string | null; query: URLSearchParams }) => JSX.Element;
  readonly One: (props: { name: string }) => JSX.Element;
}

/** `#/sources`, `#/sources/{name}`, `#/sources/{name}/edit`, `#/sources/+new`; registries likewise. */
export function ResourceRoutes({ route, pages }: { route: Route; pages: Pages }): JSX.Element {
  const [, name, action] = route.path;
  if (name === undefined) return <pages.List />;
  if (name === NEW_NAME) return <pages.Form key={NEW_NAME} name={null} query={route.query} />;
  if (action === 'edit') return <pages.Form key={name} name={name} query={route.query} />;
  return <pages.One key={name} name={name} />;
}

const PER_PAGE = 50;

interface ResourceListProps<T> {
  readonly resource: ResourceType;
  readonly read: (
    query: { limit?: number; cursor?: string; search?: string },
    signal?: AbortSignal,
  ) => Promise<CursorPage<T>>;
  /** Shown when the list is empty. */
  readonly description: string;
  readonly children: (some: readonly T[]) => ComponentChildren;
}

/** The sources or registries that the caller manages, with paging and a search by name. */
export function ResourceList<T>({
  resource,
  read,
  description,
  children,
}: ResourceListProps<T>): JSX.Element {
  const { one, title } = RESOURCES[resource];
  const [search, setSearch] = useState('');
  const query = useQuery(`${resource} ${search}`, (signal) => read({ limit: PER_PAGE, search }, signal));
  return (
    <>
      <div class="page-head">
        <h1>{title}</h1>
        <a class="button primary" href={`#/${resource}/${NEW_NAME}`}>
          New {one}
        </a>
      </div>
      <TextFilter
        label="Name"
        placeholder={`Search ${title.toLowerCase()}`}
        value={search}
        change={setSearch}
      />
      <QueryResult query={query}>
        {(first) => {
          if (first.items.length > 0)
            return (
              <CursorList
                key={search}
                first={first}
                read={(cursor) => read({ cursor })}
                moreLabel={`More ${title.toLowerCase()}`}
              >
                {children}
              </CursorList>
            );
          if (search !== '')
            return <EmptyState title={`No ${one} with this name`}>Try a part of it.</EmptyState>;
          return <EmptyState title={`You don't manage any ${title.toLowerCase()}`}>{description}</EmptyState>;
        }}
      </QueryResult>
    </>
  );
}

/** Table cell with the linked name and origin. */
export function ResourceNameCell({
  resource,
  item: { name, origin },
}: {
  resource: ResourceType;
  item: { readonly name: string; readonly origin: string };
}): JSX.Element {
  return (
    <th scope="row">
      <a href={hashOf([resource, name])}>
        <UntrustedText text={name} class="break" />
      </a>
      {origin === 'config' && <p class="muted small-text">from the configuration file</p>}
    </th>
  );
}

interface ResourceHeaderProps {
  readonly resource: ResourceType;
  readonly name: string;
  readonly origin: string;
  /** Shown next to the name. */
  readonly state?: ComponentChildren;
  /** Consequences of deletion, shown in the confirmation. */
  readonly deletionNote: string;
  readonly remove: () => Promise<unknown>;
  /** Additional buttons. */
  readonly children: ComponentChildren;
}

/** Name and actions of a source or registry. Only resources with origin `api` can be edited or deleted. */
export function ResourceHeader({
  resource,
  name,
  origin,
  state,
  deletionNote,
  remove,
  children,
}: ResourceHeaderProps): JSX.Element {
  return (
    <div class="page-head">
      <h1>
        <UntrustedText text={name} class="break" /> {state}
      </h1>
      <p class="buttons">
        {children}
        {origin === 'api' && (
          <>
            <a class="button" href={hashOf([resource, name, 'edit'])}>
              Edit
            </a>
            <DangerButton
              label="Delete"
              question={`Delete the ${RESOURCES[resource].one} ${name}?`}
              act={async () => {
                await remove();
                navigate(`#/${resource}`);
              }}
            >
              {deletionNote}
            </DangerButton>
          </>
        )}
      </p>
    </div>
  );
}

export function OriginDetail({ origin }: { origin: string }): JSX.Element {
  return (
    <Detail name="Managed in">
      {origin === 'config' ? 'the configuration file (read-only here)' : 'this page and the API'}
    </Detail>
  );
}

export function BackToList({ resource }: { resource: ResourceType }): JSX.Element {
  return (
    <p class="trail">
      <a href={`#/${resource}`}>← {RESOURCES[resource].title}</a>
    </p>
  );
}
