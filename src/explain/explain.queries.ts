import { Injectable } from '@nestjs/common';
import { InjectRepository } from '@nestjs/typeorm';
import { Repository } from 'typeorm';
import { hasShownStatus } from '../catalog/list-request.js';
import { asGiven, type Claims } from '../claims/claims.js';
import type { Origin } from '../config/config.js';
import type { RegistryKey } from '../config/registry-keys.js';
import { PreparedStatements } from '../database/statements.js';
import { ENTRY_TYPE_NAMES, type EntryName, type EntryType } from '../documents/entry-types.js';
import { OpenAccess } from '../authz/admin-access.js';
import { Entry } from '../entry-store/entry.entity.js';
import { Registry } from '../registries/registry.entity.js';
import type { SourceKind } from '../source-kinds/kinds.js';
import { isStorable } from '../validation/storable-text.js';
import { FRESHNESS, type CheckedRow, SnapshotCheck, ViewSql } from '../visibility/freshness.queries.js';
import type { View } from '../visibility/view.js';
import { isVisibleAmongMany, rankedBy } from '../visibility/visible-entries.queries.js';

/** The entry that a question is about. */
export interface AskedEntry extends EntryName {
  /** Undefined means the latest version. */
  readonly version?: string;
}

/** A source of a registry, and its entry with the requested name. */
export interface SourceFacts {
  readonly id: number;
  readonly name: string;
  readonly kind: SourceKind;
  readonly claims: Claims;
  /** The error of the last sync; null if the sync succeeded. */
  readonly problem: string | null;
  readonly entry: { readonly claims: Claims; readonly claimSetId: number } | null;
}

/** The input for an explanation: a registry and its sources, in registry order. */
export interface RegistryFacts {
  readonly name: string;
  readonly claims: Claims;
  readonly origin: Origin;
  /** Null also if the claims are not in effect. */
  readonly anonymousClaims: Claims | null;
  /** The keys in effect. */
  readonly keys: readonly RegistryKey[];
  readonly sources: readonly SourceFacts[];
}

const registriesWhere = (condition: string, onSource = '') => `
select r.name, c.claims, r.given_claims as "givenClaims", r.origin, r.anonymous_claims as "anonymousClaims", r.keys, (
  select coalesce(json_agg(json_build_object(
      'id', s.id, 'name', s.name, 'kind', s.kind, 'claims', sc.claims, 'givenClaims', s.given_claims,
      'problem', case when y.status = 'failed' then y.error end,
      'entry', case when e.id is not null then json_build_object(
        'claims', ec.claims, 'claimSetId', ec.id, 'givenClaims', coalesce(e.given_claims, s.given_claims)) end
    ) order by p.position), '[]')
  from registry_source p join source s on s.id = p.source_id
  join claim_set sc on sc.id = s.claim_set_id
  left join source_sync y on y.source_id = s.id
  left join entry e on e.source_id = s.id and e.type = $2 and e.name = $3
  left join claim_set ec on ec.id = e.claim_set_id
  where p.registry_id = r.id ${onSource}
) as sources
from registry r join claim_set c on c.id = r.claim_set_id
where ${condition}`;
const BY_NAME = registriesWhere('r.name = $1');
// Reads only sources that have the entry, because there may be many registries with many sources each.
const BY_SOURCE = registriesWhere(
  `exists (
  select from registry_source p join source s on s.id = p.source_id where p.registry_id = r.id and s.name = $1
)
order by r.origin desc, r.position, r.id`,
  'and e.id is not null',
);

/** Reads the registries, sources and claims that explanations need. */
@Injectable()
export class FactsQueries {
  constructor(
    private readonly prepared: PreparedStatements,
    @InjectRepository(Registry) private readonly registries: Repository<Registry>,
    private readonly openAccess: OpenAccess,
  ) {}

  async ofRegistry(name: string, entry?: AskedEntry): Promise<RegistryFacts | undefined> {
    const [found] = await this.read(BY_NAME, name, entry);
    return found;
  }

  /** Returns the registries that contain this source, in order. Each lists only its sources that have the entry. */
  async withSource(source: string, entry: AskedEntry): Promise<RegistryFacts[]> {
    return this.read(BY_SOURCE, source, entry);
  }

  async claimsWithKey(name: string): Promise<Claims[]> {
    if (!isStorable(name)) return [];
    const rows = await this.registries
      .createQueryBuilder('registry')
      .innerJoin('registry.claimSet', 'claimSet')
      .select('claimSet.claims', 'claims')
      .addSelect('registry.origin', 'origin')
      .distinct()
      .where('registry.keys @> :keys', { keys: JSON.stringify([{ name }]) })
      .getRawMany<Pick<RegistryFacts, 'claims' | 'origin'>>();
    return rows.filter(({ origin }) => this.openAccess.isAllowed(origin)).map(({ claims }) => claims);
  }

  private async read(statement: string, name: string, entry?: AskedEntry): Promise<RegistryFacts[]> {
    if (![name, entry?.type ?? '', entry?.name ?? ''].every(isStorable)) return [];
    const values = [name, entry?.type ?? null, entry?.name ?? null];
    const rows = await this.prepared.query<Stored<RegistryFacts>[]>(statement, values);
    return rows.map((registry) => ({
      ...withGivenClaims(registry),
      ...this.openAccess.inEffect(registry),
      sources: registry.sources.map((source) => ({
        ...withGivenClaims(source as Stored<SourceFacts>),
        entry: source.entry && withGivenClaims(source.entry as Stored<NonNullable<SourceFacts['entry']>>),
      })),
    }));
  }
}

/** Claims as stored: in canonical form, and as given. */
type Stored<Facts extends { readonly claims: Claims }> = Facts & { readonly givenClaims: Claims | null };

function withGivenClaims<Facts extends { readonly claims: Claims }>({
  givenClaims,
  ...facts
}: Stored<Facts>) {
  return { ...facts, claims: asGiven(facts.claims, givenClaims) };
}

/** A claim set and the number of entries that use it. */
export interface ClaimSetCount {
  readonly claims: Claims;
  readonly count: number;
}

/** Maximum size of the claims in one response, as JSON. */
const MAX_CLAIMS_BYTES = 4 * 1_024 * 1_024;

/** A place where a name is found: a source, and the claim set of its entry there. */
export interface NamePlace {
  readonly source: number;
  readonly claimSet: number;
  /** False if consumers see none of its versions, because all are deleted. */
  readonly isShown: boolean;
}

/** Names that are found in the same places. */
export interface NameGroup {
  readonly places: readonly NamePlace[];
  readonly count: number;
}

/** Maximum number of groups that one comparison reads. */
const MAX_NAME_GROUPS = 2_000;

const NAME_GROUPS = `
select places, count(*)::int as count from (
  select string_agg(concat_ws(':', e.source_id, e.claim_set_id, (${hasShownStatus()})::int), ',' order by e.source_id) as places
  from entry e join entry_version v on v.entry_id = e.id and v.is_latest
  where e.source_id = any($1::int[]) and e.type = any($2::text[])
  group by e.type, e.name
) named
group by places order by count desc, places limit ${MAX_NAME_GROUPS + 1}`;

const FIRST_CLAIMS = `
select id, claims from (
  select id, claims, sum(octet_length(claims::text)) over (order by id) as bytes from claim_set where id = any($1::int[])
) sized where bytes <= ${MAX_CLAIMS_BYTES}`;

/** Counts entries by claim set, and the names visible in a view. */
@Injectable()
export class ClaimSetCounts {
  constructor(
    private readonly prepared: PreparedStatements,
    @InjectRepository(Entry) private readonly entries: Repository<Entry>,
  ) {}

  /** Returns the claim sets of these sources' entries, most frequent first: at most `limit` and 4 MiB, but at least one. */
  async ofSources(
    sourceIds: readonly number[],
    limit: number,
  ): Promise<{ readonly claimSets: readonly ClaimSetCount[]; readonly isCut: boolean }> {
    const rows = await this.prepared.query<(ClaimSetCount & { found: number })[]>(
      `select claims, count, found from (
         select c.claims, n.count, n.place, n.found,
           sum(octet_length(c.claims::text)) over (order by n.place) as bytes
         from (
           select e.claim_set_id, count(*)::int as count, (count(*) over ())::int as found,
             row_number() over (order by count(*) desc, e.claim_set_id) as place
           from entry e
           where e.source_id = any($1::int[]) and e.type = any($2::text[])
           group by e.claim_set_id
         ) n join claim_set c on c.id = n.claim_set_id
         where n.place <= $3
       ) sized where place = 1 or bytes <= ${MAX_CLAIMS_BYTES} order by place`,
      [sourceIds, ENTRY_TYPE_NAMES, limit],
    );
    return { claimSets: rows, isCut: rows.length < (rows[0]?.found ?? 0) };
  }

  /** Counts the names of each type in a source that have a version which consumers may see. */
  async ofSource(sourceId: number): Promise<Readonly<Record<EntryType, number>>> {
    return countsByType(
      await this.entries
        .createQueryBuilder('e')
        .innerJoin('e.versions', 'v', `v.isLatest and ${hasShownStatus()}`)
        .select('e.type', 'type')
        .addSelect('count(*)::int', 'count')
        .where({ sourceId })
        .groupBy('e.type')
        .getRawMany<TypeCount>(),
    );
  }

  /** Groups the names in these sources by their places, the largest group first, and reads the claims of the places. */
  async namesIn(sourceIds: readonly number[]): Promise<{
    readonly groups: readonly NameGroup[];
    readonly claims: ReadonlyMap<number, Claims>;
    readonly isCut: boolean;
  }> {
    const rows = await this.prepared.query<{ places: string; count: number }[]>(NAME_GROUPS, [
      sourceIds,
      ENTRY_TYPE_NAMES,
    ]);
    const groups = rows.slice(0, MAX_NAME_GROUPS).map(({ places, count }) => ({
      count,
      places: places.split(',').map((place) => {
        const [source = 0, claimSet = 0, isShown] = place.split(':').map(Number);
        return { source, claimSet, isShown: isShown === 1 };
      }),
    }));
    const ids = new Set(groups.flatMap(({ places }) => places.map(({ claimSet }) => claimSet)));
    const found = await this.prepared.query<{ id: number; claims: Claims }[]>(FIRST_CLAIMS, [[...ids]]);
    const claims = new Map(found.map((row) => [row.id, row.claims]));
    return { groups, claims, isCut: rows.length > groups.length || claims.size < ids.size };
  }

  /** Counts the visible names of each type in a view; names with only deleted versions are not counted. */
  async ofView(view: View): Promise<Readonly<Record<EntryType, number>>> {
    const sql = new ViewSql(this.prepared, new SnapshotCheck(view));
    const rows = await sql.query<CheckedRow & TypeCount>(`
with ${FRESHNESS},
${rankedBy('(select $rankedSources::int[])')},
names as (
  select distinct on (e.type, e.name) e.id, e.type
  from ranked r join entry e on e.source_id = r.source_id
  where ${isVisibleAmongMany('e')}
  order by e.type, e.name, r.rank
)
select (select "isCurrent" from freshness), n.type, count(*)::int as count
from names n join entry_version v on v.entry_id = n.id and v.is_latest and ${hasShownStatus()}
group by n.type`);
    return countsByType(rows);
  }
}

interface TypeCount {
  readonly type: EntryType;
  readonly count: number;
}

function countsByType(rows: readonly TypeCount[]): Readonly<Record<EntryType, number>> {
  const counts = new Map(rows.map(({ type, count }) => [type, count]));
  return Object.fromEntries(ENTRY_TYPE_NAMES.map((type) => [type, counts.get(type) ?? 0])) as Record<
    EntryType,
    number
  >;
}
