import type { JSX } from 'preact';
import { api, unwrap } from '../api/client.js';
import type { ListedEntry } from '../api/types.js';
import { ClaimChips } from '../claims/claims-editor.js';
import { hashOf } from '../navigation/route.js';
import { Badge } from '../ui/badge.js';
import { CursorList, type CursorPage } from '../ui/cursor-list.js';
import { Day } from '../ui/format.js';
import { EmptyState, QueryResult, useQuery } from '../ui/query.js';
import { Table } from '../ui/table.js';
import { UntrustedText } from '../ui/untrusted-text.js';

const PER_PAGE = 50;

async function readEntries(
  cursor: string | undefined,
  signal?: AbortSignal,
): Promise<CursorPage<ListedEntry>> {
  const query = { limit: PER_PAGE, ...(cursor === undefined ? {} : { cursor }) };
  const { entries, metadata } = await unwrap(
    api.GET('/v1/entries', { params: { query }, ...(signal ? { signal } : {}) }),
  );
  return { items: entries, next: metadata.nextCursor };
}

/** Published entries that the caller manages. */
export function ManagedEntries(): JSX.Element {
  const query = useQuery('entries', (signal) => readEntries(undefined, signal));
  return (
    <section class="published">
      <h2>Published entries you manage</h2>
      <QueryResult query={query}>
        {(first) =>
          first.items.length === 0 ? (
            <EmptyState title="No entries yet">
              Entries you publish appear here with their versions and claims.
            </EmptyState>
          ) : (
            <CursorList first={first} read={readEntries} moreLabel="More entries">
              {(entries) => (
                <Table columns={['Name', 'Latest', 'Published', 'Claims']}>
                  {entries.map((entry) => (
                    <EntryRow key={`${entry.type} ${entry.name}`} entry={entry} />
                  ))}
                </Table>
              )}
            </CursorList>
          )
        }
      </QueryResult>
    </section>
  );
}

function EntryRow({ entry: { type, name, claims, versions } }: { entry: ListedEntry }): JSX.Element {
  const latest = versions.find(({ isLatest }) => isLatest) ?? versions[0];
  return (
    <tr>
      <th scope="row">
        <a href={hashOf(['publish', type, name])}>
          <UntrustedText text={name} class="break" />
        </a>{' '}
        {type !== 'server' && <span class="badge plain">{type}</span>}
      </th>
      <td>
        {latest && <UntrustedText text={latest.version} class="break version" />}{' '}
        {latest && latest.status !== 'active' && <Badge state={latest.status} />}
      </td>
      <td>{latest && <Day at={latest.publishedAt} />}</td>
      <td>
        <ClaimChips claims={claims} none="No claims: visible to super-admins only" />
      </td>
    </tr>
  );
}
