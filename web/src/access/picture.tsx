import type { JSX } from 'preact';
import { answer, api } from '../api/client.js';
import type { Claims, WhoHasAccess } from '../api/types.js';
import { useAnswer } from '../api/use-answer.js';
import { hashOf } from '../navigation/route.js';
import { Answered } from '../ui/answered.js';
import { ClaimChips, claimsKey } from '../ui/claims.js';
import { counted } from '../ui/counted.js';
import { Empty } from '../ui/empty.js';
import { Plain } from '../ui/plain.js';
import { visible } from '../ui/visible.js';
import { queryOf } from './question.js';

interface Row {
  readonly claims: Claims;
  readonly sentence: string;
  /** Entries by registry. */
  readonly counts: ReadonlyMap<string, number>;
  readonly total: number;
}

interface Grid {
  readonly registries: readonly { readonly name: string; readonly isOpen: boolean }[];
  readonly rows: readonly Row[];
  readonly isCut: boolean;
}

const MOST_ROWS = 200;
/** Each is asked about by itself. */
const MOST_COLUMNS = 30;

/** Claim sets × registries: how many entries each of them opens, where. */
export function Picture(): JSX.Element {
  const asked = useAnswer('picture', readGrid);
  return (
    <section class="picture">
      <h2>Who sees how much</h2>
      <p class="muted">
        Each row is what an entry asks for, each number how many entries of a registry ask for exactly that.
        Whoever holds the claims, and may enter the registry, sees them.
      </p>
      <Answered asked={asked}>
        {(grid) =>
          grid.rows.length === 0 ? (
            <Empty title="The registries you manage hold no entries" />
          ) : (
            <Table grid={grid} />
          )
        }
      </Answered>
    </section>
  );
}

function Table({ grid: { registries, rows, isCut } }: { grid: Grid }): JSX.Element {
  const most = Math.max(...rows.flatMap(({ counts }) => [...counts.values()]), 1);
  return (
    <>
      <div class="table-frame">
        <table class="heat">
          <thead>
            <tr>
              <th scope="col">Claims</th>
              {registries.map(({ name, isOpen }) => (
                <th scope="col" key={name} class="number">
                  <a href={hashOf(['registries', name])}>
                    <Plain text={name} />
                  </a>
                  {isOpen && <span class="badge warn">open</span>}
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {rows.map((row) => (
              <tr key={claimsKey(row.claims)}>
                <th scope="row" title={visible(row.sentence)}>
                  <ClaimChips claims={row.claims} none="no claims" />
                </th>
                {registries.map(({ name }) => (
                  <Cell key={name} registry={name} row={row} most={most} />
                ))}
              </tr>
            ))}
          </tbody>
        </table>
      </div>
      {isCut && <p class="muted">There is more than is shown: other claim sets, or other registries.</p>}
    </>
  );
}

function Cell({ registry, row, most }: { registry: string; row: Row; most: number }): JSX.Element {
  const count = row.counts.get(registry) ?? 0;
  if (count === 0) return <td class="number muted">–</td>;
  const question = { registry, type: 'server', entry: '', action: 'see', as: row.claims } as const;
  // By the logarithm: one entry and a hundred thousand stand in one picture.
  const share = Math.round((Math.log1p(count) / Math.log1p(most)) * 5);
  return (
    <td class={`number heat-${share}`}>
      <a
        href={hashOf(['access'], queryOf(question))}
        aria-label={`${counted(count, 'entry', 'entries')} of ${registry}: ${visible(row.sentence)}`}
      >
        {count.toLocaleString('en')}
      </a>
    </td>
  );
}

async function readGrid(signal: AbortSignal): Promise<Grid> {
  const { registries } = await answer(api.GET('/v1/registries', { signal }));
  const found = await Promise.all(
    registries.slice(0, MOST_COLUMNS).map(async ({ name }) => ({
      name,
      access: await answer(api.GET('/v1/registries/{name}/access', { params: { path: { name } }, signal })),
    })),
  );
  const rows = rowsOf(found);
  return {
    registries: found.map(({ name, access }) => ({ name, isOpen: access.anonymous })),
    rows: rows.slice(0, MOST_ROWS),
    isCut:
      registries.length > MOST_COLUMNS ||
      rows.length > MOST_ROWS ||
      found.some(({ access }) => access.isCut === true),
  };
}

function rowsOf(found: readonly { readonly name: string; readonly access: WhoHasAccess }[]): Row[] {
  const rows = new Map<string, { claims: Claims; sentence: string; counts: Map<string, number> }>();
  for (const { name, access } of found)
    for (const { claims, sentence, count } of access.claimSets) {
      const key = claimsKey(claims);
      const row = rows.get(key) ?? { claims, sentence, counts: new Map<string, number>() };
      row.counts.set(name, (row.counts.get(name) ?? 0) + count);
      rows.set(key, row);
    }
  const total = ({ counts }: { counts: Map<string, number> }) => Math.max(...counts.values());
  return [...rows.values()]
    .map((row) => ({ ...row, total: total(row) }))
    .sort((one, other) => other.total - one.total);
}
