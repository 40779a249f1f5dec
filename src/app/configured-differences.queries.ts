import type { EntityManager } from 'typeorm';
import { canonicalClaims, type Claims } from '../claims/claims.js';
import type { Config } from '../config/config.js';
import { registryColumns as declaredRegistry } from '../registries/registry-writer.js';
import { Registry } from '../registries/registry.entity.js';
import { sourceColumns as declaredSource } from '../sources/source-writer.js';
import { Source } from '../sources/source.entity.js';

/** Declared names whose rows are missing or different, and the IDs of rows to remove. */
interface Difference {
  readonly declared: ReadonlySet<string>;
  readonly leaving: readonly number[];
}

/** The differences between the stored sources and registries and the configuration file. */
interface Differences {
  readonly sources: Difference;
  readonly registries: Difference;
}

interface DifferentRow {
  readonly name: string;
  readonly id: number | null;
  readonly isDeclared: boolean;
  readonly isLeaving: boolean;
}

/**
 * SQL: the rows of a table that differ from the declarations in `$1`, a list of objects with the values of the columns
 * and `more`.
 *
 * @param more SQL: an object with values that a row `r` does not contain.
 */
const differentRows = (table: 'source' | 'registry', more: string) => `
with declared as materialized (
  select (form ->> 'name') collate "C" as name, form from jsonb_array_elements($1::jsonb) form
), stored as materialized (
  select r.id, r.name, to_jsonb(r) || ${more} as form
  from ${table} r join claim_set c on c.id = r.claim_set_id
  where r.origin = 'config' or r.name in (select name from declared)
)
select coalesce(d.name, r.name) as name, r.id, d.name is not null as "isDeclared",
  r.id is not null and (d.name is null or d.form -> 'kind' is distinct from r.form -> 'kind') as "isLeaving"
from declared d full join stored r on r.name = d.name
where (r.form || d.form = r.form) is not true
order by name`;

const DIFFERENT_SOURCES = differentRows('source', `jsonb_build_object('claims', c.claims)`);
const DIFFERENT_REGISTRIES = differentRows(
  'registry',
  `jsonb_build_object('claims', c.claims, 'sources', (
    select coalesce(jsonb_agg(s.name order by p.position), '[]')
    from registry_source p join source s on s.id = p.source_id where p.registry_id = r.id
  ))`,
);

/** Compares the rows with the configuration file, in two statements that take no locks. */
export async function differencesFrom(
  { sources, registries }: Pick<Config, 'sources' | 'registries'>,
  manager: EntityManager,
): Promise<Differences> {
  return {
    sources: await difference(
      manager,
      DIFFERENT_SOURCES,
      sources.map((source) => {
        const { name, kind, claims } = source;
        const columns = { name, kind, origin: 'config' as const, ...declaredSource(source) };
        return { ...byColumn<Source>(manager, Source, columns), claims: canonical(claims) };
      }),
    ),
    registries: await difference(
      manager,
      DIFFERENT_REGISTRIES,
      registries.map((registry, position) => {
        const { name, sources: held, claims } = registry;
        const columns = { name, position, origin: 'config' as const, ...declaredRegistry(registry) };
        return {
          ...byColumn<Registry>(manager, Registry, columns),
          sources: held,
          claims: canonical(claims),
        };
      }),
    ),
  };
}

/** Renames an entity's properties to its columns. */
function byColumn<Row extends object>(
  manager: EntityManager,
  entity: new () => Row,
  properties: Partial<Row>,
): object {
  const metadata = manager.dataSource.getMetadata(entity);
  const columns = Object.entries(properties).map(([property, value]) => {
    const column = metadata.findColumnWithPropertyName(property);
    if (!column) throw new Error(`${metadata.name}.${property} has no column`);
    return [column.databaseName, value] as const;
  });
  return Object.fromEntries(columns);
}

function canonical(claims: Claims): object {
  return JSON.parse(canonicalClaims(claims)) as object;
}

export function isDifferent({ sources, registries }: Differences): boolean {
  return [sources, registries].some(({ declared, leaving }) => declared.size + leaving.length > 0);
}

async function difference(
  manager: EntityManager,
  select: string,
  all: readonly object[],
): Promise<Difference> {
  const rows = await manager.query<DifferentRow[]>(select, [JSON.stringify(all)]);
  return {
    declared: new Set(rows.flatMap(({ name, isDeclared }) => (isDeclared ? [name] : []))),
    leaving: rows.flatMap(({ id, isLeaving }) => (id !== null && isLeaving ? [id] : [])),
  };
}
