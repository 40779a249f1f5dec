import { Injectable } from '@nestjs/common';
import { callerKeyOf } from '../auth/caller.js';
import { hasShownStatus } from '../catalog/list-request.js';
import { PoolSemaphores } from '../database/connection-pool.js';
import { jsonMember, parseJsonMember } from '../database/sql-expressions.js';
import { PreparedStatements } from '../database/statements.js';
import { ApiError } from '../http/errors.js';
import type { StorableText } from '../validation/storable-text.js';
import { RegistryViews, type VerifiedAccess } from '../visibility/registry-views.js';
import { FRESHNESS } from '../visibility/freshness.queries.js';
import { type CheckedRow, readCurrent, CHANGES_TOO_FAST } from '../visibility/freshness.queries.js';
import { isVisibleAmongMany, rankedBy } from '../visibility/visible-entries.queries.js';
import type { ContentTreeFile } from './content-tree.js';

/** The latest version of a plugin or skill, with its content. */
export interface ContentVersion extends Pick<EntryWithContent, 'type' | 'name' | 'version'> {
  readonly id: string;
  /** SHA-256 of the document. */
  readonly document: string;
  /** The digest of the content. */
  readonly tree: string;
}

export type DescribedVersion = ContentVersion & EntryWithContent;

type Row = CheckedRow & (ContentVersion | { readonly [column in keyof ContentVersion]: null });

// The first visible entry of a name shadows the others, even if it has no content (reference/catalog). Only names for
// which some source has content are read.
const VERSIONS = `
with ${FRESHNESS},
${rankedBy('(select $rankedSources::int[])')},
stored as materialized (
  select distinct o.type, o.name
  from version_content c join entry_version v on v.id = c.version_id and v.is_latest join entry o on o.id = v.entry_id
  where o.type = any($types::text[]) and o.source_id in (select source_id from ranked)
    and ($name::text is null or o.name = $name) and ($after::text is null or o.name > $after)
),
names as materialized (
  select distinct on (e.type, e.name) e.id, e.type, e.name
  from stored s cross join ranked r cross join lateral (
    select * from entry o where o.source_id = r.source_id and o.type = s.type and o.name = s.name offset 0
  ) e
  where ${isVisibleAmongMany('e')}
  order by e.type, e.name, r.rank
)
select freshness."isCurrent", n.* from freshness left join (
  select v.id, n.type, n.name, v.version, encode(v.digest, 'hex') as document, encode(c.tree, 'hex') as tree
  from names n join entry_version v on v.entry_id = n.id and v.is_latest
  join version_content c on c.version_id = v.id
  where ${hasShownStatus()}
) n on true
order by n.type, n.name limit $limit::int`;

const DESCRIPTIONS = `
select id::text, ${jsonMember('document', 'description')} as description from entry_version where id = any($1::bigint[])`;

const FILES = `
select encode(f.tree, 'hex') as tree, f.path, encode(f.blob, 'hex') as digest, b.bytes, f.is_executable as executable
from content_file f join content_blob b on b.digest = f.blob
where f.tree in (select decode(t, 'hex') from unnest($1::text[]) as t)
order by f.tree, f.path`;

/** Maximum entries in memory at a time, each with up to 2,048 files. */
const ENTRIES_AT_ONCE = 4;

export type ContentType = EntryWithContent['type'];

/** Publishers control how many entries have content, so every list is limited. */
export interface ContentList {
  readonly types: readonly ContentType[];
  readonly limit: number;
  /** Only the entries of this name. */
  readonly name?: StorableText;
  /** Only names after this one. */
  readonly after?: StorableText;
}

/** Reads the plugins and skills of a view that have content in their latest version. */
@Injectable()
export class EntriesWithContent {
  constructor(
    private readonly prepared: PreparedStatements,
    private readonly views: RegistryViews,
    private readonly semaphores: PoolSemaphores,
  ) {}

  /**
   * Reads in the caller's current view, which may change between attempts.
   *
   * @returns entries ordered by type and name.
   * @throws ApiError as `RegistryViews.verify`; 503 `database_timeout`.
   */
  async versions(
    access: VerifiedAccess,
    { types, limit, name, after }: ContentList,
  ): Promise<ContentVersion[]> {
    const { client, caller } = access;
    return this.semaphores.reads.run(callerKeyOf(caller, client), client.abortSignal(), async () => {
      let current: VerifiedAccess | undefined;
      const find = async () => (current = current ? await this.views.verify(current) : access).view;
      const rows = await readCurrent<Row>(this.prepared, find, VERSIONS, {
        types,
        limit,
        name: name ?? null,
        after: after ?? null,
      });
      return (rows ?? []).flatMap(({ id, type, name: found, version, document, tree }) =>
        id === null ? [] : [{ id, type, name: found, version, document, tree }],
      );
    });
  }

  /** Yields the entries with their files, a few at a time, because publishers control how many files there are. */
  async *withFiles(versions: readonly ContentVersion[]): AsyncGenerator<EntryWithFiles> {
    for (let at = 0; at < versions.length; at += ENTRIES_AT_ONCE)
      yield* await this.filesOf(await this.described(versions.slice(at, at + ENTRIES_AT_ONCE)));
  }

  /** @throws ApiError 503 `database_timeout` if a version has changed since it was read. */
  async described(versions: readonly ContentVersion[]): Promise<DescribedVersion[]> {
    const rows = await this.prepared.query<{ id: string; description: string }[]>(DESCRIPTIONS, [
      versions.map(({ id }) => id),
    ]);
    const descriptions = new Map(
      rows.map(({ id, description }) => [id, String(parseJsonMember(description))]),
    );
    return versions.map((version) => {
      const description = descriptions.get(version.id);
      if (description === undefined) throw new ApiError('database_timeout', CHANGES_TOO_FAST);
      return { ...version, description };
    });
  }

  private async filesOf(listed: readonly DescribedVersion[]): Promise<EntryWithFiles[]> {
    const files = await this.prepared.query<(ContentTreeFile & { tree: string })[]>(FILES, [
      listed.map(({ tree }) => tree),
    ]);
    const trees = new Map<string, ContentTreeFile[]>();
    for (const { tree, ...file } of files) {
      const list = trees.get(tree);
      if (list) list.push(file);
      else trees.set(tree, [file]);
    }
    return listed.map(({ type, name, version, description, tree }) => {
      const content = trees.get(tree);
      if (!content) throw new ApiError('database_timeout', CHANGES_TOO_FAST);
      return { type, name, version, description, files: content };
    });
  }
}

/** A plugin or skill whose latest version has content. */
export interface EntryWithContent {
  readonly type: 'plugin' | 'skill';
  /** `namespace/name`. */
  readonly name: string;
  readonly version: string;
  readonly description: string;
}

export interface EntryWithFiles extends EntryWithContent {
  readonly files: readonly ContentTreeFile[];
}
