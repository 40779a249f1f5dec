import type { JSX } from 'preact';
import { api, unwrap } from '../api/client.js';
import type { ListedEntry } from '../api/types.js';
import { ClaimChips } from '../claims/claims-editor.js';
import { QueryResult, useQuery } from '../ui/query.js';
import { CollapsedList, Table } from '../ui/table.js';
import { UntrustedText } from '../ui/untrusted-text.js';

const PER_PAGE = 100;
const MAX_PAGES = 20;
const MAX_SHOWN = 50;

interface Found {
  readonly names: readonly (readonly ListedEntry[])[];
  readonly scanned: number;
  readonly isComplete: boolean;
}

/** Names that several sources provide, each with the source that wins. */
export function ShadowedNames({ name, sources }: { name: string; sources: readonly string[] }): JSX.Element {
  const query = useQuery(`${name} ${sources.join(' ')}`, (signal) => read(name, sources, signal));
  return (
    <section>
      <h2>Shadowed names</h2>
      <QueryResult query={query}>
        {({ names, scanned, isComplete }) => (
          <>
            {!isComplete && (
              <p class="muted">Only the first {scanned.toLocaleString('en')} entries were checked.</p>
            )}
            {names.length === 0 ? (
              <p class="muted">None: no name is in more than one source.</p>
            ) : (
              <CollapsedList items={names} count={MAX_SHOWN}>
                {(shown) => (
                  <Table columns={['Name', 'Shown from', 'Shadowed in']}>
                    {shown.map((entries) => (
                      <Row key={`${entries[0]?.type} ${entries[0]?.name}`} entries={entries} />
                    ))}
                  </Table>
                )}
              </CollapsedList>
            )}
          </>
        )}
      </QueryResult>
    </section>
  );
}

function Row({ entries: [first, ...later] }: { entries: readonly ListedEntry[] }): JSX.Element {
  if (!first) return <></>;
  return (
    <tr>
      <th scope="row">
        <UntrustedText text={first.name} class="break" />{' '}
        {first.type !== 'server' && <span class="badge plain">{first.type}</span>}
      </th>
      <td>
        <UntrustedText text={first.source} /> <ClaimChips claims={first.claims} />
      </td>
      <td>
        {later.map((entry) => (
          <p key={entry.source}>
            <UntrustedText text={entry.source} /> <ClaimChips claims={entry.claims} />
          </p>
        ))}
      </td>
    </tr>
  );
}

async function read(registry: string, sources: readonly string[], signal: AbortSignal): Promise<Found> {
  const byName = new Map<string, ListedEntry[]>();
  let cursor: string | undefined;
  let scanned = 0;
  for (let page = 0; page < MAX_PAGES; page += 1) {
    const query = { limit: PER_PAGE, ...(cursor === undefined ? {} : { cursor }) };
    const { entries, metadata } = await unwrap(
      api.GET('/v1/registries/{name}/entries', { params: { path: { name: registry }, query }, signal }),
    );
    scanned += entries.length;
    for (const entry of entries) {
      const key = `${entry.type} ${entry.name}`;
      byName.set(key, [...(byName.get(key) ?? []), entry]);
    }
    cursor = metadata.nextCursor;
    if (cursor === undefined) break;
  }
  const position = ({ source }: ListedEntry) => sources.indexOf(source);
  const names = [...byName.values()]
    .filter((entries) => entries.length > 1)
    .map((entries) => entries.sort((one, other) => position(one) - position(other)));
  return { names, scanned, isComplete: cursor === undefined };
}
