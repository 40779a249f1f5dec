import type { JSX } from 'preact';
import { answer, api } from '../api/client.js';
import type { Source } from '../api/types.js';
import { useAnswer } from '../api/use-answer.js';
import { DeclaredList, DeclaredName } from '../declared/declared-list.js';
import { Badge } from '../ui/badge.js';
import { ClaimChips } from '../ui/claims.js';
import { Plain } from '../ui/plain.js';
import { Table } from '../ui/table.js';
import { Ago } from '../ui/time.js';

const COLUMNS = ['Name', 'Kind', 'Health', { title: 'Entries', isNumber: true }, 'Last success', 'Claims'];

export function SourcesPage(): JSX.Element {
  const asked = useAnswer(
    'sources',
    async (signal) => (await answer(api.GET('/v1/sources', { signal }))).sources,
  );
  return (
    <DeclaredList
      place="sources"
      asked={asked}
      whatItIs="A source says where entries come from: a file, a Git repository, another registry, a cluster, or publishing."
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
    </DeclaredList>
  );
}

/** The worst first: what needs somebody is the reason to come here. */
function Health({ sources }: { sources: readonly Source[] }): JSX.Element {
  const failing = sources.filter(({ sync }) => sync?.status === 'failed');
  const skipping = sources.filter((source) => skippedOf(source) > 0);
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
  const { kind, sync, claims } = source;
  return (
    <tr>
      <DeclaredName place="sources" of={source} />
      <td>{kind}</td>
      <td>
        {sync ? <Badge state={sync.status} /> : <span class="muted">not synced</span>}
        {skippedOf(source) > 0 && (
          <span class="badge warn">{skippedOf(source).toLocaleString('en')} skipped</span>
        )}
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

function skippedOf({ sync }: Source): number {
  return sync?.counts['skipped'] ?? 0;
}
