import { Injectable } from '@nestjs/common';
import { hasShownStatus, isVisibleAmongMany, rankedBy } from '../catalog/list-request.js';
import { CHANGES_TOO_FAST, type CurrencyRow, readCurrent } from '../catalog/view-sql.queries.js';
import { PoolSemaphores } from '../database/pool-semaphores.js';
import { jsonMember, parseJsonMember, PreparedStatements } from '../database/statements.js';
import { ApiError } from '../http/errors.js';
import type { StorableText } from '../validation/storable-text.js';
import { RegistryViews, type VerifiedAccess } from '../visibility/registry-views.js';
import { CURRENCY } from '../visibility/views.queries.js';
import type { ContentFile, MarketplaceEntry } from './plugin-tree.js';

/** The latest version of a plugin or skill, with its content. */
export interface ContentVersion extends Pick<MarketplaceEntry, 'type' | 'name' | 'version'> {
  readonly id: string;
  /** SHA-256 of the document. */
  readonly document: string;
  /** The digest of the content. */
  readonly tree: string;
}

type Row = CurrencyRow & (ContentVersion | { readonly [column in keyof ContentVersion]: null });

// The first visible entry of a name shadows the others, even if it has no content (contract §6). Only names with content in
// some source are read.
const VERSIONS = `
with ${CURRENCY},
${rankedBy('(select $rankedSources::int[])')},
stored as materialized (
  select distinct o.type, o.name
  from version_content c join entry_version v on v.id = c.version_id and v.is_latest join entry o on o.id = v.entry_id
  where o.type = any($types::text[]) and o.source_id in (select source_id from ranked)
    and ($name::text is null or o.name = $name)
),
names as materialized (
  select distinct on (e.type, e.name) e.id, e.type, e.name
  from stored s cross join ranked r cross join lateral (
    select * from entry o where o.source_id = r.source_id and o.type = s.type and o.name = s.name offset 0
  ) e
  where ${isVisibleAmongMany('e')}
  order by e.type, e.name, r.rank
)
select currency."isCurrent", n.* from currency left join (
  select v.id, n.type, n.name, v.version, encode(v.digest, 'hex') as document, encode(c.tree, 'hex') as tree
  from names n join entry_version v on v.entry_id = n.id and v.is_latest
  join version_content c on c.version_id = v.id
  where ${hasShownStatus()}
) n on true
order by n.type, n.name`;

const DESCRIPTIONS = `
select id::text, ${jsonMember('document', 'description')} as description from entry_version where id = any($1::bigint[])`;

const FILES = `
select encode(f.tree, 'hex') as tree, f.path, encode(f.blob, 'hex') as digest, b.bytes, f.is_executable as executable
from content_file f join content_blob b on b.digest = f.blob
where f.tree in (select decode(t, 'hex') from unnest($1::text[]) as t)
order by f.tree, f.path`;

export type ContentType = MarketplaceEntry['type'];

/** Reads the plugins and skills of a view that have content in their latest version. */
@Injectable()
export class MarketplaceEntries {
  constructor(
    private readonly prepared: PreparedStatements,
    private readonly views: RegistryViews,
    private readonly semaphores: PoolSemaphores,
  ) {}

  /**
   * Reads in the caller's current view, which may change between attempts.
   *
   * @param name only the entries of this name; null for all.
   * @returns in order of type and name.
   * @throws ApiError as `RegistryViews.verify`; 503 `database_timeout`.
   */
  async versions(
    access: VerifiedAccess,
    types: readonly ContentType[],
    name: StorableText | null = null,
  ): Promise<ContentVersion[]> {
    const { client, caller } = access;
    const release = await this.semaphores.reads.acquire(client.callerKey(caller), client.abortSource);
    try {
      let current: VerifiedAccess | undefined;
      const find = async () => (current = current ? await this.views.verify(current) : access).view;
      const rows = await readCurrent<Row>(this.prepared, find, VERSIONS, { types, name });
      return (rows ?? []).flatMap(({ id, type, name: found, version, document, tree }) =>
        id === null ? [] : [{ id, type, name: found, version, document, tree }],
      );
    } finally {
      release();
    }
  }

  /**
   * Returns the entries with their files.
   *
   * @throws ApiError 503 `database_timeout` if a version has changed since it was read.
   */
  async entries(versions: readonly ContentVersion[]): Promise<MarketplaceEntry[]> {
    const [described, files] = await Promise.all([
      this.prepared.query<{ id: string; description: string }[]>(DESCRIPTIONS, [
        versions.map(({ id }) => id),
      ]),
      this.prepared.query<(ContentFile & { tree: string })[]>(FILES, [versions.map(({ tree }) => tree)]),
    ]);
    const descriptions = new Map(
      described.map(({ id, description }) => [id, String(parseJsonMember(description))]),
    );
    const trees = new Map<string, ContentFile[]>();
    for (const { tree, ...file } of files) {
      const list = trees.get(tree);
      if (list) list.push(file);
      else trees.set(tree, [file]);
    }
    const entries: MarketplaceEntry[] = [];
    for (const { id, type, name, version, tree } of versions) {
      const [description, content] = [descriptions.get(id), trees.get(tree)];
      if (description === undefined || !content) throw new ApiError('database_timeout', CHANGES_TOO_FAST);
      entries.push({ type, name, version, description, files: content });
    }
    return entries;
  }
}
