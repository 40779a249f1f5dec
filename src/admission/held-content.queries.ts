import { Injectable } from '@nestjs/common';
import { DataSource, type EntityManager } from 'typeorm';
import { type Caller, personKey } from '../auth/caller.js';
import { AccessPolicy } from '../authz/access-policy.js';
import type { Claims } from '../claims/claims.js';
import { jsonMember } from '../database/sql-expressions.js';
import type { VersionName } from '../documents/entry-types.js';
import { batches } from '../limits/batches.js';
import type { Members } from '../members/members.responses.js';
import { MANAGED_KIND } from '../source-kinds/kinds.js';
import { isStorable } from '../validation/storable-text.js';
import { AdmissionItem } from './admission.entity.js';

/** A held publication, whether or not its content has arrived. */
export interface HeldPublication extends VersionName {
  readonly id: string;
  readonly document: string;
  readonly claims: Claims;
  readonly hasContent: boolean;
}

@Injectable()
export class HeldPublications {
  constructor(
    private readonly dataSource: DataSource,
    private readonly policy: AccessPolicy,
  ) {}

  /**
   * Returns a held version that the caller published, even if its content has not arrived. Nobody else may upload its
   * content: a reviewer must not decide on their own files. Null if its entry now has claims that the caller does not
   * satisfy, because refusing the upload would reveal them.
   */
  async publishedBy(
    caller: Caller,
    { type, name, version }: { readonly type: string; readonly name: string; readonly version: string },
    manager: EntityManager = this.dataSource.manager,
  ): Promise<HeldPublication | null> {
    const person = personKey(caller);
    if (!person || ![type, name, version].every(isStorable)) return null;
    const held = await manager
      .createQueryBuilder(AdmissionItem, 'item')
      .innerJoin('item.source', 'source', 'source.kind = :kind', { kind: MANAGED_KIND })
      .select(['item.id as id', 'item.type as type', 'item.name as name', 'item.version as version'])
      .addSelect('item.document', 'document')
      .addSelect('item.claims', 'claims')
      .addSelect('item.contentTree is not null', 'hasContent')
      .where(`item.status = 'held' and item.change is null and not item.isApproved`)
      .andWhere('item.publisherKey = :person', { person })
      .andWhere('item.type = :type and item.name = :name and item.version = :version', {
        type,
        name,
        version,
      })
      .andWhere(`(item.contentTree is not null or item.reasons @> '[{"policy": "content"}]')`)
      .getRawOne<HeldPublication>();
    return held && this.policy.mayManage(caller, held.claims) ? held : null;
  }
}

/** Content by tree digest, by served version and by held item. */
interface ContentIds {
  readonly trees: readonly string[];
  readonly versionIds: readonly string[];
  readonly itemIds: readonly string[];
}

/** Returns the members of stored content, by digest or ID; content that is not stored is absent. */
export async function membersOfVersions(
  manager: EntityManager,
  { trees, versionIds, itemIds }: ContentIds,
): Promise<ReadonlyMap<string, Members>> {
  if (trees.length + versionIds.length + itemIds.length === 0) return new Map();
  const rows = await manager.query<{ id: string; members: Members }[]>(
    `select encode(t.digest, 'hex') as id, t.members from content_tree t
     where t.digest in (select decode(hex, 'hex') from unnest($1::text[]) as n(hex))
     union all
     select c.version_id::text, t.members from version_content c join content_tree t on t.digest = c.tree
     where c.version_id = any($2::bigint[])
     union all
     select i.id::text, t.members from admission_item i join content_tree t on t.digest = i.content_tree
     where i.id = any($3::uuid[])`,
    [trees, versionIds, itemIds],
  );
  return new Map(rows.map(({ id, members }) => [id, members]));
}

/** Assigns the content of served versions that are being held, and deleted as versions, to their items. */
export async function keepContent(
  manager: EntityManager,
  withdrawn: readonly { readonly itemId: string; readonly versionId: string }[],
): Promise<void> {
  if (withdrawn.length === 0) return;
  await manager.query(
    `update admission_item i set content_tree = c.tree
     from unnest($1::uuid[], $2::bigint[]) as n(item_id, version_id) join version_content c on c.version_id = n.version_id
     where i.id = n.item_id`,
    [withdrawn.map(({ itemId }) => itemId), withdrawn.map(({ versionId }) => versionId)],
  );
}

const ITEMS_PER_STATEMENT = 1_000;

/** Queues the content of held versions for fetching. */
export async function queueHeldContent(
  manager: EntityManager,
  items: readonly { readonly id: string }[],
): Promise<void> {
  for await (const batch of batches(items, ITEMS_PER_STATEMENT))
    await manager.query(
      `insert into content_fetch (item_id, source_id, packages, fetch_at)
       select id, source_id, packages, now() from (
         select i.id, i.source_id, nullif(${jsonMember('i.document', 'packages')}, '[]') as packages
         from admission_item i where i.id = any($1::uuid[]) and i.status = 'held' and i.content_tree is null
       ) waiting where packages is not null
       on conflict do nothing`,
      [batch.map(({ id }) => id)],
    );
}
