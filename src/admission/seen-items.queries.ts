import { Injectable } from '@nestjs/common';
import { DataSource, type EntityManager } from 'typeorm';
import type { Publisher } from '../audit/audit-event.js';
import { type Caller, personKey } from '../auth/caller.js';
import { AccessPolicy } from '../authz/access-policy.js';
import { ReachableClaimSets } from '../authz/reachable-claim-sets.queries.js';
import type { Claims } from '../claims/claims.js';
import { bind } from '../database/statements.js';
import type { EntryName } from '../documents/entry-types.js';
import { ApiError } from '../http/errors.js';
import { roundestBetween } from '../http/lists.js';
import { pauseIfDue } from '../limits/time-slice.js';
import { MANAGED_KIND } from '../source-kinds/kinds.js';
import { Source } from '../sources/source.entity.js';
import { isStorable } from '../validation/storable-text.js';
import { AdmissionItem, type ItemStatus } from './admission.entity.js';
import type { ItemChange } from './publication.js';
import { approvalsOf, isReviewer, type ReviewRule } from './review-rules.js';
import { isRemovedItem } from './held-items.queries.js';
import type { HoldReason } from './hold-reason.js';

/** What determines which items a caller sees. */
interface Viewer {
  readonly person: Buffer | null;
  /** IDs of the sources that the caller manages. */
  readonly managed: readonly number[];
  readonly reviewed: ReviewedSource | null;
}

interface ReviewedSource {
  readonly id: number;
  readonly rules: readonly ReviewRule[];
  /** Positions of the review rules that list the caller. */
  readonly own: readonly number[];
}

export interface SeenItem extends EntryName {
  readonly id: string;
  readonly sourceId: number;
  readonly source: string;
  readonly kind: string;
  readonly version: string | null;
  readonly status: ItemStatus;
  readonly reasons: readonly HoldReason[];
  readonly digest: Buffer;
  readonly createdAt: Date;
  readonly firstSeenAt: Date;
  readonly dueAt: Date | null;
  readonly publishedAt: Date | null;
  readonly publisher: Publisher | null;
  readonly claims: Claims | null;
  readonly sourceClaims: Claims;
  readonly change: ItemChange | null;
  readonly isApproved: boolean;
  readonly isPublisher: boolean;
  /** Whether the caller manages the source. */
  readonly isManager: boolean;
  readonly hasApproved: boolean;
  /** Whether the caller may decide, or could if they had not approved it already. */
  readonly isDecidable: boolean;
  /** The number of approvals that its review rule requires. */
  readonly required: number;
  readonly given: number;
}

type Row = Omit<SeenItem, 'required'> & { readonly rule: number | null };

/** The position of an item in a list, newest first. */
export type ItemPlace = Pick<SeenItem, 'createdAt' | 'id'>;

export interface MatchingItems {
  readonly items: readonly SeenItem[];
  /** Set if only the items from this position on were examined: a position, not that of an item. */
  readonly reached: ItemPlace | null;
}

const ITEMS_PER_SLICE = 100;
/**
 * Maximum number of items examined per request, because publishers control how many exist and which claims they have.
 */
const MAX_JUDGED = 2_000;

/** Maximum number of an entry's items that `holding` returns. */
const MAX_HOLDING = 100;
const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

/** Decides which items a caller sees, and which of them they may decide (reference/admission). */
@Injectable()
export class SeenItems {
  constructor(
    private readonly dataSource: DataSource,
    private readonly policy: AccessPolicy,
    private readonly reachable: ReachableClaimSets,
  ) {}

  /**
   * Returns an item if the caller sees it: as a manager of its source, as a reviewer of its name who covers its claims,
   * or as its publisher.
   *
   * @throws ApiError 404 `item_not_found`.
   */
  async load(
    caller: Caller,
    id: string,
    manager: EntityManager = this.dataSource.manager,
  ): Promise<SeenItem> {
    const found = UUID.test(id) ? await this.matching(caller, `i.id = $id`, { id }, 1, manager) : undefined;
    const [item] = found?.items ?? [];
    if (!item) {
      const refusedClaims = found && (await sourceClaimsOf(manager, id));
      throw new ApiError('item_not_found', undefined, undefined, { refusedClaims });
    }
    return item;
  }

  /** Returns the held versions of an entry, or of one of its versions, that the caller sees. */
  async holding(
    caller: Caller,
    { type, name, version }: EntryName & { readonly version?: string | undefined },
  ): Promise<readonly SeenItem[]> {
    if (![type, name, version ?? ''].every(isStorable)) return [];
    const condition = `i.status = 'held' and i.change is null and i.type = $type::text and i.name = $name::text
      and ($version::text is null or i.version = $version::text)`;
    const values = { type, name, version: version ?? null };
    return (await this.matching(caller, condition, values, MAX_HOLDING)).items;
  }

  /**
   * Reads items in slices, newest first, and keeps those that the caller sees.
   *
   * @param condition SQL about the item `i`, its source `s` and the relations of SELECT, with named parameters.
   * @param isWanted tests an item that the caller sees.
   */
  async matching(
    caller: Caller,
    condition: string,
    named: Readonly<Record<string, unknown>>,
    limit: number,
    manager: EntityManager = this.dataSource.manager,
    isWanted: (item: SeenItem) => boolean = () => true,
  ): Promise<MatchingItems> {
    const { person, managed, reviewed } = await this.viewerOf(manager, caller);
    const isReviewing = reviewed !== null && reviewed.own.length > 0;
    const seen = [
      ...(person ? [`i.publisher_key = $person::bytea`] : []),
      ...(managed.length > 0 ? [`i.source_id = any($managed::int[])`] : []),
      ...(isReviewing ? [`(i.source_id = $reviewed and rule.position = any($own::int[]))`] : []),
    ];
    if (seen.length === 0) return { items: [], reached: null };
    const patterns = (reviewed?.rules ?? []).flatMap(({ names, contains }, position) =>
      names.map((glob) => ({
        position,
        pattern: globPattern(glob),
        contains: contains ? [...contains, 'unreadable'].join() : null,
      })),
    );
    const values: Record<string, unknown> = {
      ...named,
      person,
      managed,
      reviewed: reviewed?.id ?? null,
      own: reviewed?.own ?? [],
      patterns: patterns.map(({ pattern }) => pattern),
      positions: patterns.map(({ position }) => position),
      contains: patterns.map(({ contains }) => contains),
      slice: ITEMS_PER_SLICE,
    };
    const items: SeenItem[] = [];
    let last: ItemPlace | undefined;
    for (let judged = 0; ;) {
      const { text, values: parameters } = bind(
        `${SELECT} where (${seen.join(' or ')}) and not ${isRemovedItem('i')} and ${condition}
           ${last ? 'and (i.created_at, i.id) < ($lastAt::timestamptz, $lastId::uuid)' : ''}
         order by i.created_at desc, i.id desc limit $slice::int`,
        { ...values, lastAt: last?.createdAt ?? null, lastId: last?.id ?? null },
      );
      const rows = await manager.query<Row[]>(text, parameters);
      for (const { rule, ...row } of rows) {
        await pauseIfDue();
        const isReached = rule === null || this.reaches(caller, row);
        if (!row.isPublisher && !row.isManager && !isReached) continue;
        const required = approvalsOf(rule === null ? undefined : reviewed?.rules[rule]);
        const item = { ...row, required, isDecidable: row.isDecidable && isReached };
        if (isWanted(item)) items.push(item);
        if (items.length === limit) return { items, reached: null };
      }
      if (rows.length < ITEMS_PER_SLICE) return { items, reached: null };
      judged += rows.length;
      const end = rows.at(-1);
      if (end && last && judged >= MAX_JUDGED) {
        const reached = roundestPlace(end, last);
        return { items: items.filter((item) => placeKey(item) >= placeKey(reached)), reached };
      }
      last = end;
    }
  }

  /** Whether the caller covers the item's claims and the claims it would get. */
  private reaches(caller: Caller, { claims, change }: Pick<SeenItem, 'claims' | 'change'>): boolean {
    return [claims, change?.claims].every((each) => !each || this.policy.mayManage(caller, each));
  }

  private async viewerOf(manager: EntityManager, caller: Caller): Promise<Viewer> {
    const sources = await manager
      .createQueryBuilder(Source, 'source')
      .select('source.id', 'id')
      .addSelect('source.claimSetId', 'claimSetId')
      .addSelect('source.kind', 'kind')
      .addSelect(`source.settings -> 'review'`, 'review')
      .getRawMany<{ id: number; claimSetId: number; kind: string; review: readonly ReviewRule[] | null }>();
    const managesSources = this.policy.mayAct(caller, 'manageSources');
    const reached = managesSources ? await this.reachable.among(manager, caller, sources) : new Set();
    const managed = sources.filter(({ claimSetId }) => reached.has(claimSetId)).map(({ id }) => id);
    const publishing = sources.find(({ kind }) => kind === MANAGED_KIND);
    const rules = publishing?.review ?? [];
    const own = rules.flatMap((rule, position) => (isReviewer(caller, rule) ? [position] : []));
    return {
      person: personKey(caller),
      managed,
      reviewed: publishing && rules.length > 0 ? { id: publishing.id, rules, own } : null,
    };
  }
}

const SELECT = `
select i.id, i.source_id as "sourceId", s.name as source, s.kind, i.type, i.name, i.version, i.status, i.reasons, i.digest,
  i.created_at as "createdAt", i.first_seen_at as "firstSeenAt", i.due_at as "dueAt", i.published_at as "publishedAt",
  i.publisher, i.claims, c.claims as "sourceClaims", i.change, i.is_approved as "isApproved",
  coalesce(i.publisher_key = $person::bytea, false) as "isPublisher", i.source_id = any($managed::int[]) as "isManager",
  rule.position as rule, approvals.given,
  approvals.has as "hasApproved", decidable.is as "isDecidable"
from admission_item i
join source s on s.id = i.source_id
join claim_set c on c.id = s.claim_set_id
left join content_tree t on t.digest = i.content_tree
left join lateral (
  select min(r.position) as position
  from unnest($patterns::text[], $positions::int[], $contains::text[]) as r(pattern, position, contains)
  where i.source_id = $reviewed::int and lower(i.name) like r.pattern and (r.contains is null or (
    i.type <> 'server' and (t.members is null or t.members ?| string_to_array(r.contains, ','))
  ))
) rule on true
cross join lateral (
  select count(*)::int as given, coalesce(bool_or(d.by_key = $person::bytea), false) as has
  from admission_decision d where d.item_id = i.id and d.decision = 'approve'
) approvals
cross join lateral (
  select not coalesce(i.publisher_key = $person::bytea, false)
    and case when rule.position is null then i.source_id = any($managed::int[])
      else rule.position = any($own::int[]) end as is
) decidable`;

const TIME_DIGITS = 12;

/** Orders places by time and ID, as hexadecimal digits. */
function placeKey({ createdAt, id }: ItemPlace): string {
  return createdAt.getTime().toString(16).padStart(TIME_DIGITS, '0') + id.replaceAll('-', '');
}

/** Returns a place from `low` up to, but excluding, `high`. */
function roundestPlace(low: ItemPlace, high: ItemPlace): ItemPlace {
  const key = roundestBetween(placeKey(low), placeKey(high));
  return {
    createdAt: new Date(Number.parseInt(key.slice(0, TIME_DIGITS), 16)),
    id: key.slice(TIME_DIGITS).replace(/^(.{8})(.{4})(.{4})(.{4})/, '$1-$2-$3-$4-'),
  };
}

/** Returns the claims of the source of an item; undefined if there is no such item. */
async function sourceClaimsOf(manager: EntityManager, id: string): Promise<Claims | undefined> {
  const item = await manager.findOne(AdmissionItem, {
    select: { id: true, source: { id: true, claimSet: { id: true, claims: true } } },
    where: { id },
    relations: { source: { claimSet: true } },
  });
  return item?.source.claims;
}

/** Converts a glob to a LIKE pattern for lower-case names. */
export function globPattern(glob: string): string {
  return glob
    .toLowerCase()
    .replaceAll(/[\\%_]/g, (special) => `\\${special}`)
    .replaceAll('*', '%')
    .replaceAll('?', '_');
}
