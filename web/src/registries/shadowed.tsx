import type { JSX } from 'preact';
import { answer, api } from '../api/client.js';
import type { ListedEntry } from '../api/types.js';
import { useAnswer } from '../api/use-answer.js';
import { Answered } from '../ui/answered.js';
import { ClaimChips } from '../ui/claims.js';
import { FirstFew } from '../ui/first-few.js';
import { Plain } from '../ui/plain.js';
import { Table } from '../ui/table.js';

const PER_PAGE = 100;
const PAGES = 20;
const FEW = 50;

interface Found {
  readonly names: readonly (readonly ListedEntry[])[];
  readonly looked: number;
  readonly isWhole: boolean;
}

/** Names that several sources of the registry have, and which source comes first. */
export function Shadowed({ name, sources }: { name: string; sources: readonly string[] }): JSX.Element {
  const asked = useAnswer(`${name} ${sources.join(' ')}`, (signal) => read(name, sources, signal));
  return (
    <section>
      <h2>Names in several sources</h2>
      <Answered asked={asked}>
        {({ names, looked, isWhole }) => (
          <>
            {!isWhole && <p class="muted">Of the first {looked.toLocaleString('en')} entries.</p>}
            {names.length === 0 ? (
              <p class="muted">None: every name is in one source alone.</p>
            ) : (
              <FirstFew of={names} count={FEW}>
                {(shown) => (
                  <Table columns={['Name', 'Shown first', 'Shadowed by it']}>
                    {shown.map((entries) => (
                      <Row key={`${entries[0]?.type} ${entries[0]?.name}`} entries={entries} />
                    ))}
                  </Table>
                )}
              </FirstFew>
            )}
          </>
        )}
      </Answered>
    </section>
  );
}

function Row({ entries: [first, ...later] }: { entries: readonly ListedEntry[] }): JSX.Element {
  if (!first) return <></>;
  return (
    <tr>
      <th scope="row">
        <Plain text={first.name} class="break" />{' '}
        {first.type !== 'server' && <span class="badge plain">{first.type}</span>}
      </th>
      <td>
        <Plain text={first.source} /> <ClaimChips claims={first.claims} />
      </td>
      <td>
        {later.map((entry) => (
          <p key={entry.source}>
            <Plain text={entry.source} /> <ClaimChips claims={entry.claims} />
          </p>
        ))}
      </td>
    </tr>
  );
}

async function read(registry: string, sources: readonly string[], signal: AbortSignal): Promise<Found> {
  const byName = new Map<string, ListedEntry[]>();
  let cursor: string | undefined;
  let looked = 0;
  for (let page = 0; page < PAGES; page += 1) {
    const query = { limit: PER_PAGE, ...(cursor === undefined ? {} : { cursor }) };
    const { entries, metadata } = await answer(
      api.GET('/v1/registries/{name}/entries', { params: { path: { name: registry }, query }, signal }),
    );
    looked += entries.length;
    for (const entry of entries) {
      const key = `${entry.type} ${entry.name}`;
      byName.set(key, [...(byName.get(key) ?? []), entry]);
    }
    cursor = metadata.nextCursor;
    if (cursor === undefined) break;
  }
  const place = ({ source }: ListedEntry) => sources.indexOf(source);
  const names = [...byName.values()]
    .filter((entries) => entries.length > 1)
    .map((entries) => entries.sort((one, other) => place(one) - place(other)));
  return { names, looked, isWhole: cursor === undefined };
}
