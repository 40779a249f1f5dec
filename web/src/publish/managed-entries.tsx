import type { JSX } from 'preact';
import { answer, api } from '../api/client.js';
import type { ListedEntry } from '../api/types.js';
import { useAnswer } from '../api/use-answer.js';
import { hashOf } from '../navigation/route.js';
import { Answered } from '../ui/answered.js';
import { Badge } from '../ui/badge.js';
import { ClaimChips } from '../ui/claims.js';
import { CursorList, type CursorPage } from '../ui/cursor-list.js';
import { Empty } from '../ui/empty.js';
import { Plain } from '../ui/plain.js';
import { Table } from '../ui/table.js';
import { Day } from '../ui/time.js';

const PER_PAGE = 50;

async function readEntries(
  cursor: string | undefined,
  signal?: AbortSignal,
): Promise<CursorPage<ListedEntry>> {
  const query = { limit: PER_PAGE, ...(cursor === undefined ? {} : { cursor }) };
  const { entries, metadata } = await answer(
    api.GET('/v1/entries', { params: { query }, ...(signal ? { signal } : {}) }),
  );
  return { items: entries, next: metadata.nextCursor };
}

/** What is published, as far as the caller manages it. */
export function ManagedEntries(): JSX.Element {
  const asked = useAnswer('entries', (signal) => readEntries(undefined, signal));
  return (
    <section class="published">
      <h2>Published entries you manage</h2>
      <Answered asked={asked}>
        {(first) =>
          first.items.length === 0 ? (
            <Empty title="Nothing yet">
              What you publish above stands here, with its versions and claims.
            </Empty>
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
      </Answered>
    </section>
  );
}

function EntryRow({ entry: { type, name, claims, versions } }: { entry: ListedEntry }): JSX.Element {
  const latest = versions.find(({ isLatest }) => isLatest) ?? versions[0];
  return (
    <tr>
      <th scope="row">
        <a href={hashOf(['publish', type, name])}>
          <Plain text={name} class="break" />
        </a>{' '}
        {type !== 'server' && <span class="badge plain">{type}</span>}
      </th>
      <td>
        {latest && <Plain text={latest.version} class="break version" />}{' '}
        {latest && latest.status !== 'active' && <Badge state={latest.status} />}
      </td>
      <td>{latest && <Day at={latest.publishedAt} />}</td>
      <td>
        <ClaimChips claims={claims} none="none: super-admins only" />
      </td>
    </tr>
  );
}
