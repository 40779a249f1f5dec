import type { JSX } from 'preact';
import { api, readPages, unwrap } from '../api/client.js';
import { ENTRY_TYPES } from '../api/entry-types.js';
import type { Source } from '../api/types.js';
import { ClaimChips } from '../claims/claims-editor.js';
import type { Route } from '../navigation/route.js';
import { ResourceList, ResourceNameCell, ResourceRoutes } from '../resources/resource-pages.js';
import { useSession } from '../session/session.js';
import { Badge } from '../ui/badge.js';
import { Ago, pluralize } from '../ui/format.js';
import { useQuery } from '../ui/query.js';
import { Table } from '../ui/table.js';
import { UntrustedText } from '../ui/untrusted-text.js';
import { isUnlabeled } from './source-claims.js';
import { SourceFormPage } from './source-form-page.js';
import { SourcePage } from './source-page.js';

export function SourceRoutes({ route }: { route: Route }): JSX.Element {
  return (
    <ResourceRoutes route={route} pages={{ List: SourcesPage, Form: SourceFormPage, One: SourcePage }} />
  );
}

const COLUMNS = ['Name', 'Kind', 'Health', { title: 'Entries', isNumber: true }, 'Last success', 'Claims'];

function SourcesPage(): JSX.Element {
  return (
    <ResourceList
      resource="sources"
      read={async (query, signal) => {
        const { sources, metadata } = await listSources(query, signal);
        return { items: sources, next: metadata.nextCursor };
      }}
      description="A source provides entries from a file, a Git repository, another registry, a Kubernetes cluster or publishing."
    >
      {(sources) => (
        <>
          <Health sources={sources} />
          <Table columns={COLUMNS}>
            {sources.map((source) => (
              <Row key={source.name} source={source} />
            ))}
          </Table>
        </>
      )}
    </ResourceList>
  );
}

export function readSources(signal: AbortSignal): Promise<Source[]> {
  return readPages(
    (query) => listSources(query, signal),
    ({ sources }) => sources,
  );
}

function listSources(query: { limit?: number; cursor?: string; search?: string }, signal?: AbortSignal) {
  return unwrap(api.GET('/v1/sources', { params: { query }, ...(signal && { signal }) }));
}

/** Summary of failed syncs and skipped entries, for the sources that are shown. */
function Health({ sources }: { sources: readonly Source[] }): JSX.Element {
  const failing = sources.filter(({ sync }) => sync?.status === 'failed');
  const skipping = sources.filter((source) => skippedCount(source) > 0);
  if (failing.length === 0 && skipping.length === 0) return <></>;
  const sentences = [
    ...(failing.length > 0
      ? [`${pluralize(failing.length, 'source')} failed to sync; their previous entries remain`]
      : []),
    ...(skipping.length > 0 ? [`${pluralize(skipping.length, 'source')} skipped invalid entries`] : []),
  ];
  return <p class="notice">{sentences.join('. ')}.</p>;
}

function Row({ source }: { source: Source }): JSX.Element {
  const { settings } = useSession();
  const { kind, sync, claims } = source;
  return (
    <tr>
      <ResourceNameCell resource="sources" item={source} />
      <td>{kind}</td>
      <td>
        {sync ? <Badge state={sync.status} /> : <span class="muted">–</span>}
        {skippedCount(source) > 0 && (
          <span class="badge warn">{skippedCount(source).toLocaleString('en')} skipped</span>
        )}
        {sync?.error !== undefined && (
          <p class="small-text bad-text">
            <UntrustedText text={sync.error} class="break clamp" />
          </p>
        )}
      </td>
      <td class="number">
        {sync ? (sync.counts['entries']?.toLocaleString('en') ?? '–') : <NameCount name={source.name} />}
      </td>
      <td>{sync?.lastSuccessAt ? <Ago at={sync.lastSuccessAt} /> : <span class="muted">–</span>}</td>
      <td>
        {settings.checksClaims && isUnlabeled(source) ? (
          <span class="badge warn">super-admins only</span>
        ) : (
          <ClaimChips claims={claims} />
        )}
      </td>
    </tr>
  );
}

/** The number of entries in a source that is not synced, which contains published entries. */
function NameCount({ name }: { name: string }): JSX.Element {
  const { value } = useQuery(name, (signal) =>
    unwrap(api.GET('/v1/sources/{name}/access', { params: { path: { name } }, signal })),
  );
  if (!value) return <>–</>;
  return <>{ENTRY_TYPES.reduce((sum, type) => sum + value.counts[type], 0).toLocaleString('en')}</>;
}

function skippedCount({ sync }: Source): number {
  return sync?.counts['skipped'] ?? 0;
}
