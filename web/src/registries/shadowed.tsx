import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import { answer, api } from '../api/client.js';
import type { ListedEntry } from '../api/types.js';
import { useAnswer } from '../api/use-answer.js';
import { Answered } from '../ui/answered.js';
import { ClaimChips } from '../ui/claims.js';
import { Plain } from '../ui/plain.js';

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
  const [isWhole, setWhole] = useState(false);
  const asked = useAnswer(`${name} ${sources.join(' ')}`, (signal) => read(name, sources, signal));
  return (
    <section>
      <h2>Names in several sources</h2>
      <Answered asked={asked}>
        {({ names, looked, isWhole: isAll }) => (
          <>
            {!isAll && <p class="muted">Of the first {looked.toLocaleString('en')} entries.</p>}
            {names.length === 0 ? (
              <p class="muted">None: every name is in one source alone.</p>
            ) : (
              <div class="table-frame">
                <table>
                  <thead>
                    <tr>
                      <th scope="col">Name</th>
                      <th scope="col">Shown first, to who may see it</th>
                      <th scope="col">Shadowed by it</th>
                    </tr>
                  </thead>
                  <tbody>
                    {(isWhole ? names : names.slice(0, FEW)).map(([first, ...later]) =>
                      first ? (
                        <tr key={`${first.type} ${first.name}`}>
                          <th scope="row">
                            <Plain text={first.name} class="break" />
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
                      ) : null,
                    )}
                  </tbody>
                </table>
              </div>
            )}
            {names.length > FEW && !isWhole && (
              <button type="button" class="small" onClick={() => setWhole(true)}>
                All {names.length}
              </button>
            )}
          </>
        )}
      </Answered>
    </section>
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
