import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import { api, unwrap } from '../api/client.js';
import type { ListedEntry } from '../api/types.js';
import { ClaimChips } from '../claims/claims-editor.js';
import { Badge } from '../ui/badge.js';
import { CursorList, type CursorPage } from '../ui/cursor-list.js';
import { Day } from '../ui/format.js';
import { QueryResult, useQuery } from '../ui/query.js';
import { Table } from '../ui/table.js';
import { UntrustedText } from '../ui/untrusted-text.js';

const PER_PAGE = 50;

async function readEntries(
  name: string,
  cursor?: string,
  signal?: AbortSignal,
): Promise<CursorPage<ListedEntry>> {
  const query = { limit: PER_PAGE, ...(cursor === undefined ? {} : { cursor }) };
  const { entries, metadata } = await unwrap(
    api.GET('/v1/sources/{name}/entries', {
      params: { path: { name }, query },
      ...(signal ? { signal } : {}),
    }),
  );
  return { items: entries, next: metadata.nextCursor };
}

/** All entries of a source, read when the section is opened. */
export function SourceEntries({ name }: { name: string }): JSX.Element {
  const [isOpen, setOpen] = useState(false);
  const query = useQuery(isOpen ? name : null, (signal) => readEntries(name, undefined, signal));
  return (
    <details onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary>Entries</summary>
      {isOpen && (
        <QueryResult query={query}>
          {(first) =>
            first.items.length === 0 ? (
              <p class="muted">None.</p>
            ) : (
              <CursorList first={first} read={(cursor) => readEntries(name, cursor)} moreLabel="More entries">
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
      )}
    </details>
  );
}

function EntryRow({ entry: { type, name, claims, versions } }: { entry: ListedEntry }): JSX.Element {
  const latest = versions.find(({ isLatest }) => isLatest) ?? versions[0];
  return (
    <tr>
      <th scope="row">
        <UntrustedText text={name} class="break" />{' '}
        {type !== 'server' && <span class="badge plain">{type}</span>}
      </th>
      <td>
        {latest && <UntrustedText text={latest.version} class="break version" />}{' '}
        {latest && latest.status !== 'active' && <Badge state={latest.status} />}
      </td>
      <td>{latest && <Day at={latest.publishedAt} />}</td>
      <td>
        <ClaimChips claims={claims} />
      </td>
    </tr>
  );
}
