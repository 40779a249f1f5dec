import type { JSX } from 'preact';
import { answer, api } from '../api/client.js';
import type { Source } from '../api/types.js';
import { useAnswer } from '../api/use-answer.js';
import { hashOf } from '../navigation/route.js';
import { Answered } from '../ui/answered.js';
import { Badge } from '../ui/badge.js';
import { ClaimChips } from '../ui/claims.js';
import { Empty } from '../ui/empty.js';
import { Plain } from '../ui/plain.js';
import { Ago } from '../ui/time.js';

export function SourcesPage(): JSX.Element {
  const asked = useAnswer('sources', (signal) => answer(api.GET('/v1/sources', { signal })));
  return (
    <>
      <div class="page-head">
        <h1>Sources</h1>
        <a class="button primary" href="#/sources/+new">
          New source
        </a>
      </div>
      <Answered asked={asked}>
        {({ sources }) =>
          sources.length === 0 ? (
            <Empty title="There is no source that you manage">
              A source says where entries come from: a file, a Git repository, another registry, a cluster, or
              publishing.
            </Empty>
          ) : (
            <>
              <Health sources={sources} />
              <div class="table-frame">
                <table>
                  <thead>
                    <tr>
                      <th scope="col">Name</th>
                      <th scope="col">Kind</th>
                      <th scope="col">Health</th>
                      <th scope="col" class="number">
                        Entries
                      </th>
                      <th scope="col">Last success</th>
                      <th scope="col">Claims</th>
                    </tr>
                  </thead>
                  <tbody>
                    {sources.map((source) => (
                      <Row key={source.name} source={source} />
                    ))}
                  </tbody>
                </table>
              </div>
            </>
          )
        }
      </Answered>
    </>
  );
}

/** The worst first: what needs somebody is the reason to come here. */
function Health({ sources }: { sources: readonly Source[] }): JSX.Element {
  const failing = sources.filter(({ sync }) => sync?.status === 'failed');
  const skipping = sources.filter(({ sync }) => (sync?.skipped.length ?? 0) > 0);
  if (failing.length === 0 && skipping.length === 0) return <></>;
  const words = [
    ...(failing.length > 0
      ? [`${failing.length} of ${sources.length} could not be synced; their earlier entries stay`]
      : []),
    ...(skipping.length > 0
      ? [
          `${skipping.length} ${skipping.length === 1 ? 'holds' : 'hold'} entries that are not valid and were skipped`,
        ]
      : []),
  ];
  return <p class="notice">{words.join('. ')}.</p>;
}

function Row({ source }: { source: Source }): JSX.Element {
  const { name, kind, sync, claims, origin } = source;
  return (
    <tr>
      <th scope="row">
        <a href={hashOf(['sources', name])}>
          <Plain text={name} class="break" />
        </a>
        {origin === 'config' && <p class="muted small-text">from the configuration</p>}
      </th>
      <td>{kind}</td>
      <td>
        {sync ? <Badge state={sync.status} /> : <span class="muted">not synced</span>}
        {sync && sync.skipped.length > 0 && <span class="badge warn">{sync.skipped.length} skipped</span>}
        {sync?.error !== undefined && (
          <p class="small-text bad-text">
            <Plain text={sync.error} class="break clamp" />
          </p>
        )}
      </td>
      <td class="number">{sync?.counts['entries']?.toLocaleString('en') ?? '–'}</td>
      <td>{sync?.lastSuccessAt ? <Ago at={sync.lastSuccessAt} /> : <span class="muted">–</span>}</td>
      <td>
        <ClaimChips claims={claims} />
      </td>
    </tr>
  );
}
