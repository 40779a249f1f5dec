import type { ComponentChildren, JSX } from 'preact';
import type { ListedEntry } from '../api/types.js';
import { ClaimChips } from '../claims/claims-editor.js';
import { Badge } from '../ui/badge.js';
import { CursorList, type CursorPage } from '../ui/cursor-list.js';
import { Day } from '../ui/format.js';
import { QueryResult, useQuery } from '../ui/query.js';
import { Table } from '../ui/table.js';
import { UntrustedText } from '../ui/untrusted-text.js';

const PER_PAGE = 50;

interface Page {
  readonly entries: readonly ListedEntry[];
  readonly metadata: { readonly nextCursor?: string };
}

interface Props {
  /** Identifies the list; a change reads it again. */
  readonly list: string;
  readonly read: (query: { limit: number; cursor?: string }, signal?: AbortSignal) => Promise<Page>;
  readonly hrefOf?: (entry: ListedEntry) => string;
  readonly empty: ComponentChildren;
  /** The meaning of an entry's date. */
  readonly dateTitle?: string;
  /** Shown for an entry without claims. */
  readonly noClaims?: string;
}

/** Entries of the admin API with their latest version and claims. */
export function EntryTable({
  list,
  read,
  hrefOf,
  empty,
  dateTitle = 'Published',
  noClaims = 'no claims',
}: Props): JSX.Element {
  const readPage = async (cursor?: string, signal?: AbortSignal): Promise<CursorPage<ListedEntry>> => {
    const { entries, metadata } = await read(
      { limit: PER_PAGE, ...(cursor === undefined ? {} : { cursor }) },
      signal,
    );
    return { items: entries, next: metadata.nextCursor };
  };
  const query = useQuery(list, (signal) => readPage(undefined, signal));
  return (
    <QueryResult query={query}>
      {(first) =>
        first.items.length === 0 ? (
          empty
        ) : (
          <CursorList first={first} read={readPage} moreLabel="More entries">
            {(entries) => (
              <Table columns={['Name', 'Latest', dateTitle, 'Claims']}>
                {entries.map((entry) => (
                  <EntryRow
                    key={`${entry.type} ${entry.name}`}
                    entry={entry}
                    href={hrefOf?.(entry)}
                    noClaims={noClaims}
                  />
                ))}
              </Table>
            )}
          </CursorList>
        )
      }
    </QueryResult>
  );
}

interface RowProps {
  readonly entry: ListedEntry;
  readonly href: string | undefined;
  readonly noClaims: string;
}

function EntryRow({ entry: { type, name, claims, versions }, href, noClaims }: RowProps): JSX.Element {
  const latest = versions.find(({ isLatest }) => isLatest) ?? versions[0];
  return (
    <tr>
      <th scope="row">
        {href === undefined ? (
          <UntrustedText text={name} class="break" />
        ) : (
          <a href={href}>
            <UntrustedText text={name} class="break" />
          </a>
        )}{' '}
        {type !== 'server' && <span class="badge plain">{type}</span>}
      </th>
      <td>
        {latest && <UntrustedText text={latest.version} class="break version" />}{' '}
        {latest && latest.status !== 'active' && <Badge state={latest.status} />}
      </td>
      <td>{latest && <Day at={latest.publishedAt} />}</td>
      <td>
        <ClaimChips claims={claims} none={noClaims} />
      </td>
    </tr>
  );
}
