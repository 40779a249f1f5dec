import { Inject, Injectable } from '@nestjs/common';
import type { ConfigType } from '@nestjs/config';
import { DataSource } from 'typeorm';
import type { Claims } from '../claims/claims.js';
import { contentConfig } from '../config/slices.js';
import { utcText } from '../database/sql-expressions.js';
import { ENTRY_TYPE_NAMES, type EntryType } from '../documents/entry-types.js';
import { MAX_PAGE_BYTES } from '../http/lists.js';
import { type ContentAnswer, contentState } from '../entry-store/entry-content.queries.js';

/** The position of an entry in a list ordered by name, type and source. */
export interface ListPosition {
  readonly name: string;
  readonly type: EntryType;
  /** Rank of the entry's source. */
  readonly rank: number;
}

/** Limits a list to a type and an exact name. */
export interface AskedEntries {
  readonly type?: EntryType | undefined;
  readonly name?: string | undefined;
}

/** A listed entry; versions are newest first. */
export interface ListedEntryRow extends ListPosition {
  readonly source: string;
  readonly claims: Claims;
  /** The claims as given for the entry, or for the source from which the entry inherits them. */
  readonly givenClaims: Claims | null;
  readonly versions: readonly {
    version: string;
    digest: string;
    status: string;
    isLatest: boolean;
    publishedAt: string;
    content?: ContentAnswer;
  }[];
}

@Injectable()
export class EntryListQueries {
  constructor(
    private readonly dataSource: DataSource,
    @Inject(contentConfig.KEY) private readonly content: ConfigType<typeof contentConfig>,
  ) {}

  /**
   * Returns entries of these sources after a position, ordered by name, type and source: at least one, and no more
   * than fit into MAX_PAGE_BYTES. Versions are newest first.
   *
   * @param claimSetIds limits the result to entries with these claim sets; null for all entries.
   */
  async page(
    sourceIds: readonly number[],
    claimSetIds: readonly number[] | null,
    after: ListPosition | null,
    limit: number,
    { type, name }: AskedEntries = {},
  ): Promise<{ readonly rows: readonly ListedEntryRow[]; readonly hasMore: boolean }> {
    const rows = await this.dataSource.query<(ListedEntryRow & { found: number })[]>(
      `with near as (
         select e.id, e.name, e.type, n.rank::int as rank, s.name as source, c.claims,
           coalesce(e.given_claims, s.given_claims) as "givenClaims"
         from unnest($1::int[]) with ordinality as n(source_id, rank)
         join source s on s.id = n.source_id
         cross join unnest($7::text[]) as t(type)
         cross join lateral (
           select e.id, e.name, e.type, e.claim_set_id, e.given_claims from entry e
           where e.source_id = n.source_id and e.type = t.type and ($9::text is null or e.name = $9)
             and ($2::text is null or e.name >= $2)
             and ($2::text is null or (e.name, e.type, n.rank::int) > ($2 collate "C", $3 collate "C", $4::int))
             and ($6::int[] is null or e.claim_set_id = any($6::int[]))
           order by e.name limit $5
         ) e
         join claim_set c on c.id = e.claim_set_id
         order by e.name, e.type, n.rank limit $5
       ), sized as (
         select near.*, listed.versions, row_number() over page as place,
           sum(octet_length(concat(listed.versions, near.claims, near."givenClaims"))) over page as bytes
         from near cross join lateral (
           select json_agg(json_strip_nulls(json_build_object('version', v.version, 'digest', encode(v.digest, 'hex'),
             'status', v.status, 'isLatest', v.is_latest, 'publishedAt', ${utcText('v.published_at')},
             'content', case when near.type <> 'server' then ${contentState('$8::boolean')} end))
             order by v.version_key desc) as versions
           from entry_version v where v.entry_id = near.id
         ) listed
         window page as (order by near.name, near.type, near.rank rows unbounded preceding)
       )
       select name, type, rank, source, claims, "givenClaims", versions, (select count(*) from near)::int as found
       from sized where place < $5 and (bytes <= ${MAX_PAGE_BYTES} or place = 1) order by name, type, rank`,
      [
        sourceIds,
        after?.name ?? null,
        after?.type ?? null,
        after?.rank ?? null,
        limit + 1,
        claimSetIds,
        type === undefined ? ENTRY_TYPE_NAMES : [type],
        this.content.fetchHosts.length > 0,
        name ?? null,
      ],
    );
    return { rows, hasMore: rows.length < (rows[0]?.found ?? 0) };
  }
}
