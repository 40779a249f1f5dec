import { Injectable } from '@nestjs/common';
import { DataSource } from 'typeorm';
import { asGiven, type Claims } from '../claims/claims.js';
import { hasNul, isOneOf } from '../database/columns.js';
import { PreparedStatements } from '../database/statements.js';
import { ENTRY_TYPE_NAMES, type EntryType } from '../documents/entry-types.js';
import { SHOWN_STATUSES } from '../documents/statuses.js';
import type { SourceKind } from '../source-kinds/kinds.js';
import type { View } from '../visibility/view.js';

/** An entry as a question names it; no version is the latest. */
export interface AskedEntry {
  readonly type: string;
  readonly name: string;
  readonly version?: string;
}

/** What a source has of a name. */
export interface EntryFacts {
  readonly claims: Claims;
  /** Of the version that was asked for; null: there is no such version. */
  readonly status: string | null;
  readonly latestStatus: string;
}

export interface SourceFacts {
  readonly name: string;
  readonly kind: SourceKind;
  readonly claims: Claims;
  /** Of its syncs: why the last one failed. */
  readonly problem: string | null;
  readonly entry: EntryFacts | null;
}

/** A registry with what its sources have of one name, in their order: what an explanation is about. */
export interface RegistryFacts {
  readonly name: string;
  readonly claims: Claims;
  readonly anonymousClaims: Claims | null;
  readonly sources: readonly SourceFacts[];
}

const ofRegistries = (which: string, sources = '') => `
select r.name, c.claims, r.given_claims as "givenClaims", r.anonymous_claims as "anonymousClaims", (
  select coalesce(json_agg(json_build_object(
      'name', s.name, 'kind', s.kind, 'claims', sc.claims, 'givenClaims', s.given_claims,
      'problem', case when y.status = 'failed' then y.error end,
      'entry', case when e.id is not null then json_build_object(
        'claims', ec.claims, 'givenClaims', coalesce(e.given_claims, s.given_claims), 'status', asked.status, 'latestStatus', latest.status) end
    ) order by p.position), '[]')
  from registry_source p join source s on s.id = p.source_id
  join claim_set sc on sc.id = s.claim_set_id
  left join source_sync y on y.source_id = s.id
  left join entry e on e.source_id = s.id and e.type = $2 and e.name = $3
  left join claim_set ec on ec.id = e.claim_set_id
  left join entry_version latest on latest.entry_id = e.id and latest.is_latest
  left join entry_version asked on asked.entry_id = e.id
    and case when $4::text is null then asked.is_latest else asked.version = $4 end
  where p.registry_id = r.id ${sources}
) as sources
from registry r join claim_set c on c.id = r.claim_set_id
where ${which}`;
const BY_NAME = ofRegistries('r.name = $1');
// Anybody who manages registries may make many, of many sources each.
const BY_SOURCE = ofRegistries(
  `exists (
  select from registry_source p join source s on s.id = p.source_id where p.registry_id = r.id and s.name = $1
)
order by r.origin desc, r.position, r.id`,
  'and e.id is not null',
);

/** What explanations need to know beside the answer: the steps behind it too. */
@Injectable()
export class FactsQueries {
  constructor(private readonly prepared: PreparedStatements) {}

  /** The registry of this name; undefined when there is none. */
  async ofRegistry(name: string, entry?: AskedEntry): Promise<RegistryFacts | undefined> {
    const [found] = await this.read(BY_NAME, name, entry);
    return found;
  }

  /** Those that have this source, in their order, each with those of its sources that have the name. */
  async withSource(source: string, entry: AskedEntry): Promise<RegistryFacts[]> {
    return this.read(BY_SOURCE, source, entry);
  }

  private async read(statement: string, name: string, entry?: AskedEntry): Promise<RegistryFacts[]> {
    const { version } = entry ?? {};
    const isLatest = version === undefined || version === 'latest';
    const values = [name, entry?.type ?? null, entry?.name ?? null, isLatest ? null : version];
    if (values.some((value) => value !== null && hasNul(value))) return [];
    const rows = await this.prepared.query<Stored<RegistryFacts>[]>(statement, values);
    return rows.map((registry) => ({
      ...shown(registry),
      sources: registry.sources.map((source) => ({
        ...shown(source as Stored<SourceFacts>),
        entry: source.entry && shown(source.entry as Stored<EntryFacts>),
      })),
    }));
  }
}

/** As it is stored: the claims in the form that is compared, and the one they were given in. */
type Stored<Facts extends { readonly claims: Claims }> = Facts & { readonly givenClaims: Claims | null };

function shown<Facts extends { readonly claims: Claims }>({ givenClaims, ...facts }: Stored<Facts>) {
  return { ...facts, claims: asGiven(facts.claims, givenClaims) };
}

/** Claims that entries carry, and how many do. */
export interface ClaimSetCount {
  readonly claims: Claims;
  readonly count: number;
}

const VISIBLE = `select distinct on (e.type, e.name) e.id, e.type
  from unnest($1::int[], $2::int[], $3::int[]) v(source_id, claim_set_id, rank)
  join entry e on e.source_id = v.source_id and e.claim_set_id = v.claim_set_id
  order by e.type, e.name, v.rank`;
const ALL = `select distinct on (e.type, e.name) e.id, e.type
  from unnest($1::int[]) with ordinality v(source_id, rank)
  join entry e on e.source_id = v.source_id
  order by e.type, e.name, v.rank`;

/** Counts entries by what they show to whom. */
@Injectable()
export class ClaimSetCounts {
  constructor(private readonly dataSource: DataSource) {}

  /** The claims that the entries of these sources carry, those of most entries first. */
  async ofSources(sourceIds: readonly number[], limit: number): Promise<ClaimSetCount[]> {
    return this.dataSource.query<ClaimSetCount[]>(
      `select c.claims, n.count from (
         select e.claim_set_id, count(*)::int as count from entry e
         where e.source_id = any($1::int[]) and e.type = any($2::text[])
         group by e.claim_set_id
       ) n join claim_set c on c.id = n.claim_set_id
       order by n.count desc, c.id limit $3`,
      [sourceIds, ENTRY_TYPE_NAMES, limit],
    );
  }

  /** How many names of each type a view shows, without those whose versions are deleted. */
  async ofView({ seesAll, sourceIds, visible }: View): Promise<Readonly<Record<EntryType, number>>> {
    const partitions = visible.flatMap(({ sourceId, claimSetIds }, rank) =>
      claimSetIds.map((claimSetId) => ({ sourceId, claimSetId, rank })),
    );
    const rows = await this.dataSource.query<{ type: EntryType; count: number }[]>(
      `select shown.type, count(*)::int as count from (${seesAll ? ALL : VISIBLE}) shown
       join entry_version v on v.entry_id = shown.id and v.is_latest and ${isOneOf('v.status', SHOWN_STATUSES)}
       group by shown.type`,
      seesAll
        ? [sourceIds]
        : [
            partitions.map(({ sourceId }) => sourceId),
            partitions.map(({ claimSetId }) => claimSetId),
            partitions.map(({ rank }) => rank),
          ],
    );
    const counts = new Map(rows.map(({ type, count }) => [type, count]));
    return Object.fromEntries(ENTRY_TYPE_NAMES.map((type) => [type, counts.get(type) ?? 0])) as Record<
      EntryType,
      number
    >;
  }
}
