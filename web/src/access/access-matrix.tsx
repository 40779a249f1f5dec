import type { JSX } from 'preact';
import { api, unwrap } from '../api/client.js';
import type { Claims, WhoHasAccess } from '../api/types.js';
import { ClaimChips, claimsKey } from '../claims/claims-editor.js';
import { hashOf } from '../navigation/route.js';
import { pluralize } from '../ui/format.js';
import { EmptyState, QueryResult, useQuery } from '../ui/query.js';
import { escapeInvisible, UntrustedText } from '../ui/untrusted-text.js';
import { queryOf } from './question-form.js';

interface Row {
  readonly claims: Claims;
  readonly sentence: string;
  /** Entries by registry. */
  readonly counts: ReadonlyMap<string, number>;
  readonly total: number;
}

interface Matrix {
  readonly registries: readonly { readonly name: string; readonly isOpen: boolean }[];
  readonly rows: readonly Row[];
  readonly isTruncated: boolean;
}

const MAX_ROWS = 200;
/** Limited, because each column is a separate request. */
const MAX_COLUMNS = 30;

/** A matrix of claim sets and registries, with the number of entries that each claim set makes visible. */
export function AccessMatrix(): JSX.Element {
  const query = useQuery('access matrix', loadMatrix);
  return (
    <section class="access-matrix">
      <h2>Entries by claims</h2>
      <p class="muted">
        Each row is a set of required claims; each number counts the entries in a registry that require
        exactly these claims. People who hold the claims and have access to the registry see the entries.
      </p>
      <QueryResult query={query}>
        {(matrix) =>
          matrix.rows.length === 0 ? (
            <EmptyState title="The registries you manage have no entries" />
          ) : (
            <MatrixTable matrix={matrix} />
          )
        }
      </QueryResult>
    </section>
  );
}

function MatrixTable({ matrix: { registries, rows, isTruncated } }: { matrix: Matrix }): JSX.Element {
  const most = Math.max(...rows.flatMap(({ counts }) => [...counts.values()]), 1);
  return (
    <>
      <div class="table-frame" role="group" aria-label="Table" tabIndex={0}>
        <table class="heat">
          <thead>
            <tr>
              <th scope="col">Claims</th>
              {registries.map(({ name, isOpen }) => (
                <th scope="col" key={name} class="number">
                  <a href={hashOf(['registries', name])}>
                    <UntrustedText text={name} />
                  </a>
                  {isOpen && <span class="badge warn">open</span>}
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {rows.map((row) => (
              <tr key={claimsKey(row.claims)}>
                <th scope="row" title={escapeInvisible(row.sentence)}>
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
      {isTruncated && <p class="muted">Not all claim sets or registries are shown.</p>}
    </>
  );
}

function Cell({ registry, row, most }: { registry: string; row: Row; most: number }): JSX.Element {
  const count = row.counts.get(registry) ?? 0;
  if (count === 0) return <td class="number muted">–</td>;
  const question = {
    registry,
    type: 'server',
    entry: '',
    action: 'see',
    as: { claims: row.claims },
  } as const;
  // Logarithmic, because counts range from one to 100,000.
  const share = Math.round((Math.log1p(count) / Math.log1p(most)) * 5);
  return (
    <td class={`number heat-${share}`}>
      <a
        href={hashOf(['access'], queryOf(question))}
        aria-label={`${pluralize(count, 'entry', 'entries')} in ${registry}: ${escapeInvisible(row.sentence)}`}
      >
        {count.toLocaleString('en')}
      </a>
    </td>
  );
}

async function loadMatrix(signal: AbortSignal): Promise<Matrix> {
  const { registries, metadata } = await unwrap(api.GET('/v1/registries', { signal }));
  const columns = await Promise.all(
    registries.slice(0, MAX_COLUMNS).map(async ({ name }) => ({
      name,
      access: await unwrap(api.GET('/v1/registries/{name}/access', { params: { path: { name } }, signal })),
    })),
  );
  const rows = groupByClaims(columns);
  return {
    registries: columns.map(({ name, access }) => ({ name, isOpen: access.anonymous })),
    rows: rows.slice(0, MAX_ROWS),
    isTruncated:
      registries.length > MAX_COLUMNS ||
      metadata.nextCursor !== undefined ||
      rows.length > MAX_ROWS ||
      columns.some(({ access }) => access.isCut === true),
  };
}

function groupByClaims(columns: readonly { readonly name: string; readonly access: WhoHasAccess }[]): Row[] {
  const rows = new Map<string, { claims: Claims; sentence: string; counts: Map<string, number> }>();
  for (const { name, access } of columns)
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
