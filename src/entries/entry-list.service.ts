import { Injectable } from '@nestjs/common';
import { Type } from 'class-transformer';
import { IsDefined, IsIn, IsInt, IsOptional, Max, Min, ValidateNested } from 'class-validator';
import type { Caller } from '../auth/caller.js';
import { AccessPolicy } from '../authz/access-policy.js';
import { asGiven, type Claims } from '../claims/claims.js';
import { ENTRY_TYPE_NAMES, type EntryType } from '../documents/entry-types.js';
import { JsonText } from '../http/json-answers.js';
import { type AdminListQuery, decodeCursor, encodeCursor, MAX_PAGE_BYTES } from '../http/lists.js';
import type { Registry } from '../registries/registry.entity.js';
import type { Source } from '../sources/source.entity.js';
import { SourcesRepository } from '../sources/sources.repository.js';
import { hasShape } from '../validation/class-validation.js';
import { IsStorable } from '../validation/decorators.js';
import { MAX_PAGE } from '../validation/value-checks.js';
import { evaluateSource, Partitions } from '../visibility/partitions.js';
import type { EntriesQuery } from './entries.dto.js';
import {
  type AskedEntries,
  EntryListQueries,
  type ListedEntryRow,
  type ListPosition,
} from './entry-list.queries.js';

/** Entries per query when the whole list is requested. */
const BATCH = 200;

/** The largest PostgreSQL `integer`. */
const MAX_RANK = 2_147_483_647;

class CursorPosition implements ListPosition {
  @IsStorable() readonly name: string;
  @IsIn(ENTRY_TYPE_NAMES) readonly type: EntryType;
  @IsInt() @Min(1) @Max(MAX_RANK) readonly rank: number;
}

class EntryListCursor {
  @IsDefined() @ValidateNested() @Type(() => CursorPosition) readonly after: CursorPosition;
  @IsOptional() @IsInt() @Min(1) @Max(MAX_PAGE) readonly limit?: number;
}

/**
 * Lists the entries of a source or registry, including shadowed entries, regardless of claims: managers may see all
 * entries (reference/publishing). Also lists the published entries a caller may manage.
 */
@Injectable()
export class EntryListService {
  constructor(
    private readonly queries: EntryListQueries,
    private readonly sources: SourcesRepository,
    private readonly partitions: Partitions,
    private readonly policy: AccessPolicy,
  ) {}

  async ofSource({ id }: Source, query: AdminListQuery): Promise<JsonText> {
    return this.list('source-entries', [id], null, query);
  }

  async ofRegistry({ sources }: Registry, query: AdminListQuery): Promise<JsonText> {
    const ids = sources.map(({ sourceId }) => sourceId);
    return this.list('registry-entries', ids, null, query);
  }

  /** Lists the entries of the managed source that the caller may manage, or one of them by name. */
  async manageable(caller: Caller, query: EntriesQuery): Promise<JsonText> {
    const managed = await this.sources.findManaged();
    const sourceIds = managed ? [managed.id] : [];
    const sources = await this.partitions.ofSources(sourceIds);
    const mayManage = (claims: Claims) => this.policy.mayManage(caller, claims);
    const judged = await Promise.all(sources.map((source) => evaluateSource(source, undefined, mayManage)));
    const claimSetIds = judged.flatMap(({ visible }) => visible.claimSetIds);
    const asked = { type: query.type || undefined, name: query.name || undefined };
    return this.list('entries', sourceIds, claimSetIds, query, asked);
  }

  private async list(
    list: string,
    sourceIds: readonly number[],
    claimSetIds: readonly number[] | null,
    query: AdminListQuery,
    asked: AskedEntries = {},
  ): Promise<JsonText> {
    const before = query.cursor ? decodeCursor(list, query.cursor, hasShape(EntryListCursor)) : undefined;
    const limit = query.limit === undefined ? before?.limit : Number(query.limit);
    const entries: string[] = [];
    let bytes = 0;
    let after: ListPosition | null = before?.after ?? null;
    const cursor = () => encodeCursor(list, { after, limit });
    for (;;) {
      const wanted = limit ?? BATCH;
      const { rows, hasMore } = await this.queries.page(sourceIds, claimSetIds, after, wanted, asked);
      for (const row of rows) {
        const entry = describe(row);
        bytes += Buffer.byteLength(entry);
        if (bytes > MAX_PAGE_BYTES && entries.length > 0) return body(entries, cursor());
        entries.push(entry);
        after = { name: row.name, type: row.type, rank: row.rank };
      }
      if (!hasMore) return body(entries);
      if (limit !== undefined || rows.length < wanted) return body(entries, cursor());
    }
  }
}

function body(entries: readonly string[], nextCursor?: string): JsonText {
  const metadata = { count: entries.length, ...(nextCursor === undefined ? {} : { nextCursor }) };
  return new JsonText(`{"entries":[${entries.join(',')}],"metadata":${JSON.stringify(metadata)}}`);
}

function describe({ type, name, source, claims, givenClaims, versions }: ListedEntryRow): string {
  return JSON.stringify({ type, name, source, claims: asGiven(claims, givenClaims), versions });
}
