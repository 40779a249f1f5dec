import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import { answer, api } from '../api/client.js';
import type { ListedEntry } from '../api/types.js';
import { useAnswer } from '../api/use-answer.js';
import { hashOf } from '../navigation/route.js';
import { useAct } from '../ui/act.js';
import { Answered } from '../ui/answered.js';
import { Badge } from '../ui/badge.js';
import { ClaimChips } from '../ui/claims.js';
import { Empty } from '../ui/empty.js';
import { Plain } from '../ui/plain.js';
import { Refusal } from '../ui/refusal.js';
import { Day } from '../ui/time.js';

const PER_PAGE = 50;

function readEntries(cursor: string | undefined, signal?: AbortSignal) {
  const query = { limit: PER_PAGE, ...(cursor === undefined ? {} : { cursor }) };
  return answer(api.GET('/v1/entries', { params: { query }, ...(signal ? { signal } : {}) }));
}

/** What is published, as far as the caller manages it. */
export function ManagedEntries(): JSX.Element {
  const asked = useAnswer('entries', (signal) => readEntries(undefined, signal));
  return (
    <section class="published">
      <h2>Published entries you manage</h2>
      <Answered asked={asked}>
        {({ entries, metadata }) =>
          entries.length === 0 ? (
            <Empty title="Nothing yet">
              What you publish above stands here, with its versions and claims.
            </Empty>
          ) : (
            <Entries first={entries} next={metadata.nextCursor} />
          )
        }
      </Answered>
    </section>
  );
}

function Entries({ first, next }: { first: readonly ListedEntry[]; next: string | undefined }): JSX.Element {
  const [state, setState] = useState({ entries: first, next });
  const more = useAct(async () => {
    const { entries, metadata } = await readEntries(state.next);
    setState({ entries: [...state.entries, ...entries], next: metadata.nextCursor });
  });
  return (
    <>
      <div class="table-frame">
        <table>
          <thead>
            <tr>
              <th scope="col">Name</th>
              <th scope="col">Latest</th>
              <th scope="col">Published</th>
              <th scope="col">Claims</th>
            </tr>
          </thead>
          <tbody>
            {state.entries.map(({ type, name, claims, versions }) => {
              const latest = versions.find(({ isLatest }) => isLatest) ?? versions[0];
              return (
                <tr key={`${type} ${name}`}>
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
            })}
          </tbody>
        </table>
      </div>
      {more.failure && <Refusal failure={more.failure} again={more.run} />}
      {state.next !== undefined && (
        <p class="paused">
          <button type="button" onClick={more.run} disabled={more.isUnderWay}>
            More
          </button>
        </p>
      )}
    </>
  );
}
