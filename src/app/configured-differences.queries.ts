import type { EntityManager } from 'typeorm';
import { canonicalClaims, givenForm } from '../claims/claims.js';
import type { Config, RegistryConfig, SourceConfig } from '../config/config.js';

/** Declared names whose rows are missing or different, and ids of rows to remove. */
interface Difference {
  readonly declared: ReadonlySet<string>;
  readonly leaving: readonly number[];
}

/** Where sources and registries differ from the configuration file. */
export interface Differences {
  readonly sources: Difference;
  readonly registries: Difference;
}

interface DifferentRow {
  readonly name: string;
  readonly id: number | null;
  readonly isDeclared: boolean;
  readonly isLeaving: boolean;
}

const DIFFERENT_SOURCES = `
with declared as materialized (
  select * from jsonb_to_recordset($1::jsonb) as d(name text collate "C", kind text, settings jsonb, filter jsonb,
    admission jsonb, interval_ms bigint, allow_shrink boolean, claims jsonb, given_claims jsonb)
)
select coalesce(d.name, s.name) as name, s.id, d.name is not null as "isDeclared",
  s.id is not null and d.kind is distinct from s.kind as "isLeaving"
from declared d full join (source s join claim_set c on c.id = s.claim_set_id) on s.name = d.name
where (d.name is not null or s.origin = 'config')
  and ('config', d.kind, d.settings, d.filter, d.admission, d.interval_ms, d.allow_shrink, d.claims, d.given_claims)
    is distinct from
      (s.origin, s.kind, s.settings, s.filter, s.admission, s.interval_ms, s.allow_shrink, c.claims, s.given_claims)
order by name`;

const DIFFERENT_REGISTRIES = `
with declared as materialized (
  select * from jsonb_to_recordset($1::jsonb) as d(name text collate "C", position int, sources jsonb, claims jsonb,
    given_claims jsonb, anonymous_claims jsonb, keys jsonb, publish_claims jsonb, marketplace jsonb)
), stored as materialized (
  select r.*, c.claims, (
    select coalesce(jsonb_agg(s.name order by p.position), '[]')
    from registry_source p join source s on s.id = p.source_id where p.registry_id = r.id
  ) as sources
  from registry r join claim_set c on c.id = r.claim_set_id
  where r.origin = 'config' or r.name in (select name from declared)
)
select coalesce(d.name, r.name) as name, r.id, d.name is not null as "isDeclared",
  r.id is not null and d.name is null as "isLeaving"
from declared d full join stored r on r.name = d.name
where ('config', d.position, d.sources, d.claims, d.given_claims, d.anonymous_claims, d.keys, d.publish_claims, d.marketplace)
    is distinct from
      (r.origin, r.position, r.sources, r.claims, r.given_claims, r.anonymous_claims, r.keys, r.publish_claims, r.marketplace)
order by name`;

/** Compares the rows with the configuration file, in two statements that lock nothing. */
export async function differencesFrom(
  { sources, registries }: Pick<Config, 'sources' | 'registries'>,
  manager: EntityManager,
): Promise<Differences> {
  return {
    sources: await difference(manager, DIFFERENT_SOURCES, sources.map(sourceRow)),
    registries: await difference(manager, DIFFERENT_REGISTRIES, registries.map(registryRow)),
  };
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

function sourceRow({
  name,
  kind,
  settings,
  filter,
  admission,
  intervalMs,
  allowShrink,
  claims,
}: SourceConfig) {
  return {
    ...{ name, kind, settings, filter, admission, interval_ms: intervalMs, allow_shrink: allowShrink },
    ...claimsColumns(claims),
  };
}

function registryRow(
  { name, sources, claims, anonymousClaims, keys, publishClaims, marketplace }: RegistryConfig,
  position: number,
) {
  return {
    ...{ name, position, sources, keys, marketplace },
    ...claimsColumns(claims),
    anonymous_claims: anonymousClaims,
    publish_claims: publishClaims,
  };
}

function claimsColumns(claims: SourceConfig['claims']) {
  return { claims: JSON.parse(canonicalClaims(claims)) as object, given_claims: givenForm(claims) };
}
