import { Injectable } from '@nestjs/common';
import { Any, type EntityManager, Raw } from 'typeorm';
import { ClaimSetsRepository } from '../claim-sets/claim-sets.repository.js';
import { canonicalClaims, type Claims, givenForm } from '../claims/claims.js';
import { transactionTime } from '../database/locks.js';
import { entryMapKey, type VersionName } from '../documents/entry-types.js';
import { attachContent, queueContent } from '../entry-store/entry-content.queries.js';
import { insertEntries, settleVersions } from '../entry-store/entry-rows.queries.js';
import { demoteUpstreamLatest } from '../entry-store/latest-version.queries.js';
import { batches } from '../limits/batches.js';
import { Source } from '../sources/source.entity.js';
import { lockSource } from '../sources/sources.repository.js';
import { inheritedClaimSet } from '../sources/inherited-claims.queries.js';
import { SourceStates } from '../sources/source-states.queries.js';
import { AdmissionItem } from './admission.entity.js';
import { REMOVED } from './hold-reason.js';
import { markAdmitted, ONLY_BLOCKED } from './held-items.queries.js';
import { rewriteDocument } from './rewrite.js';
import { rememberNames } from './synced-source.queries.js';

/** Items per statement; their documents are read only to rewrite them. */
const BATCH = 1_000;

interface AdmittedRow extends VersionName {
  readonly id: string;
  readonly claims: Claims | null;
  readonly isUpstreamLatest: boolean;
  readonly isRewritten: boolean;
  readonly contentTree: Buffer | null;
}

type AdmittingSource = Pick<Source, 'id' | 'claimSetId' | 'admission'>;

/** Stores held versions as versions that consumers see. */
@Injectable()
export class AdmittedItems {
  constructor(
    private readonly claimSets: ClaimSetsRepository,
    private readonly states: SourceStates,
  ) {}

  /**
   * Adds the claim sets of items. Publications add theirs before they lock the managed source, and admitting them must
   * follow that order. Like a publication, it takes the shared lock first, because a change to the source takes that
   * lock before adding the same claim sets.
   */
  async addClaimSets(manager: EntityManager, ids: readonly string[]): Promise<void> {
    await manager.find(Source, {
      select: { id: true },
      where: {
        id: Raw((id) => `${id} in (select source_id from admission_item where id = any(:ids))`, { ids }),
      },
      order: { id: 'ASC' },
      lock: { mode: 'for_key_share' },
    });
    const items = await manager.find(AdmissionItem, {
      select: { id: true, claims: true, change: true },
      where: { id: Any(ids) },
    });
    await this.claimSets.findOrCreateAll(
      manager,
      items.flatMap(({ claims, change }) => [claims, change?.claims].filter((one) => one != null)),
    );
  }

  /**
   * Admits items of one source: adds their entries and versions, elects the latest versions, and increments the
   * revision of the source. Replaces versions that are served. Runs in the caller's transaction, which has already
   * compared the items with the blocks. Publications need `addClaimSets` first; synced sources need `BlockSweep.settle`
   * afterwards.
   */
  async admit(manager: EntityManager, sourceId: number, ids: readonly string[]): Promise<void> {
    if (ids.length === 0) return;
    const source = await lockSource(manager, sourceId).getOne();
    if (!source) return;
    const now = await transactionTime(manager);
    await dropSuperseded(manager, sourceId, ids);
    const inherited = await inheritedClaimSet(manager, source, {
      claimSets: this.claimSets,
      states: this.states,
    });
    const touched = new Set<string>();
    for await (const batch of batches(ids, BATCH)) {
      const rows = await manager.query<AdmittedRow[]>(
        // The join looks up each ID, even if the planner's statistics are older than the latest status changes.
        `select i.id, i.type, i.name, i.version, i.claims, i.is_upstream_latest as "isUpstreamLatest",
           i.is_rewritten as "isRewritten", i.content_tree as "contentTree"
         from unnest($1::uuid[]) as n(id) join lateral (select * from admission_item where id = n.id offset 0) i on true
         where i.status = 'held' and i.change is null order by i.type, i.name, i.id`,
        [batch],
      );
      await this.rewrite(manager, source, rows);
      for (const id of await this.store(manager, source, rows, inherited, now)) touched.add(id);
    }
    for await (const batch of batches([...touched], BATCH)) await settleVersions(manager, sourceId, batch);
  }

  private async rewrite(
    manager: EntityManager,
    { admission }: AdmittingSource,
    rows: readonly AdmittedRow[],
  ): Promise<void> {
    const rules = admission?.rewrite ?? [];
    if (rules.length === 0) return;
    for (const { id, isRewritten } of rows) {
      if (isRewritten) continue;
      const item = await manager.findOne(AdmissionItem, {
        select: { id: true, document: true },
        where: { id },
      });
      const rewritten = item?.document && rewriteDocument(rules, item.document);
      if (rewritten) await manager.update(AdmissionItem, { id }, { document: rewritten.toString() });
    }
  }

  /** Returns the ids of the entries. */
  private async store(
    manager: EntityManager,
    { id: sourceId, admission }: AdmittingSource,
    rows: readonly AdmittedRow[],
    inherited: number,
    now: Date,
  ): Promise<string[]> {
    const entries = [...new Map(rows.map((row) => [entryMapKey(row), row])).values()];
    const own = [
      ...new Map(
        entries.flatMap(({ claims }) => (claims ? [[canonicalClaims(claims), claims] as const] : [])),
      ),
    ];
    const claimSets = await this.claimSets.findOrCreateAll(
      manager,
      own.map(([, claims]) => claims),
    );
    const idOf = new Map(own.map(([canonical], index) => [canonical, claimSets[index]?.id ?? 0]));
    await insertEntries(
      manager,
      sourceId,
      entries.map(({ type, name, claims }) => ({
        ...{ type, name },
        claimSetId: claims ? (idOf.get(canonicalClaims(claims)) ?? 0) : inherited,
        givenClaims: claims && givenForm(claims),
      })),
    );
    const latest = rows.filter(({ isUpstreamLatest }) => isUpstreamLatest);
    if (latest.length > 0) await demoteUpstreamLatest(manager, sourceId, latest);
    const ids = rows.map(({ id }) => id);
    const stored = await manager.query<{ entryId: string }[]>(
      `insert into entry_version as v (entry_id, version, version_key, document, digest, search, status, status_message,
         status_changed_at, published_at, updated_at, published_by)
       select e.id, i.version, i.version_key, i.document, i.digest, i.search, i.version_status, i.status_message,
         coalesce(i.status_changed_at, $2), coalesce(i.published_at, i.first_seen_at), $2, i.publisher
       from admission_item i
       join entry e on e.source_id = i.source_id and e.type = i.type and e.name = i.name
       where i.id = any($1::uuid[])
       on conflict (entry_id, version) do update set version_key = excluded.version_key, document = excluded.document, summary = null,
         digest = excluded.digest, search = excluded.search, status = excluded.status,
         status_message = excluded.status_message, status_changed_at = excluded.status_changed_at,
         published_at = excluded.published_at, updated_at = excluded.updated_at, published_by = excluded.published_by
       returning v.entry_id as "entryId"`,
      [ids, now],
    );
    await attachContent(
      manager,
      sourceId,
      rows.flatMap(({ type, name, version, contentTree: tree }) =>
        tree ? [{ type, name, version, tree }] : [],
      ),
    );
    await queueContent(manager, sourceId, rows);
    if (admission) await rememberNames(manager, sourceId, entries);
    await markAdmitted(manager, ids, now);
    return [...new Set(stored.map(({ entryId }) => entryId))];
  }
}

/**
 * If several of these documents belong to one version, drops all but the newest; those that blocks hold are only
 * marked. A document that was served until a block held it counts as the oldest.
 */
async function dropSuperseded(
  manager: EntityManager,
  sourceId: number,
  ids: readonly string[],
): Promise<void> {
  await manager.query(
    `with replaced as materialized (
       select id from (
         select id, bool_or(id = any($2::uuid[])) over (partition by type, name, version
           order by not is_rewritten desc, created_at desc, id desc rows between unbounded preceding and 1 preceding
         ) as is_replaced
         from admission_item where source_id = $1 and status = 'held' and change is null
       ) ranked where is_replaced
     ),
     kept as (
       update admission_item i set reasons = i.reasons || $3::jsonb
       where i.id in (select id from replaced) and i.id <> all($2::uuid[]) and ${ONLY_BLOCKED}
         and not i.reasons @> $3::jsonb
     )
     delete from admission_item i
     where i.id in (select id from replaced) and (i.id = any($2::uuid[]) or not (${ONLY_BLOCKED}))`,
    [sourceId, ids, JSON.stringify([REMOVED])],
  );
}
