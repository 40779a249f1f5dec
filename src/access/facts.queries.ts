import { Injectable } from '@nestjs/common';
import { asGiven, type Claims } from '../claims/claims.js';
import { hasNul } from '../database/columns.js';
import { PreparedStatements } from '../database/statements.js';
import type { SourceKind } from '../source-kinds/kinds.js';

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
