import { Injectable } from '@nestjs/common';
import { DataSource, type EntityManager } from 'typeorm';
import type { Publisher } from '../audit/audit-event.js';
import { type Caller, personKey } from '../auth/caller.js';
import { AccessPolicy } from '../authz/access-policy.js';
import { ReachableClaimSets } from '../claim-sets/reachable-claim-sets.queries.js';
import type { Claims } from '../claims/claims.js';
import { bind } from '../database/statements.js';
import type { EntryType } from '../documents/entry-types.js';
import type { HoldReason, ItemChange, ReviewRule } from '../entries/admission-gate.js';
import { ApiError } from '../http/errors.js';
import { MANAGED_KIND } from '../source-kinds/kinds.js';
import { isStorable } from '../validation/storable-text.js';
import type { ItemStatus } from './admission.entity.js';
import { approvalsOf, isReviewer } from './review.js';

/** What decides whose items a caller sees. */
interface Viewer {
  readonly person: Buffer | null;
  /** Ids of the sources that the caller manages. */
  readonly managed: readonly number[];
  readonly reviewed: ReviewedSource | null;
}

interface ReviewedSource {
  readonly id: number;
  readonly rules: readonly ReviewRule[];
  /** Positions of the rules that the caller reviews by. */
  readonly own: readonly number[];
}

/** An item that the caller sees. */
export interface SeenItem {
  readonly id: string;
  readonly sourceId: number;
  readonly source: string;
  readonly kind: string;
  readonly type: EntryType;
  readonly name: string;
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
  /** Whether the caller may decide, or could if they had not approved it. */
  readonly isDecidable: boolean;
  /** The approvals that its review rule asks for. */
  readonly required: number;
  readonly given: number;
}

type Row = Omit<SeenItem, 'required'> & { readonly rule: number | null };

/** The most items of one entry that `holding` returns. */
const MAX_HOLDING = 100;
const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

/** Decides which items a caller sees, and which of them they may decide (contract §11). */
@Injectable()
export class SeenItems {
  constructor(
    private readonly dataSource: DataSource,
    private readonly policy: AccessPolicy,
    private readonly reachable: ReachableClaimSets,
  ) {}

  /**
   * Returns an item that the caller sees: who manages its source, reviewers of its name who reach its claims, and its
   * publisher.
   *
   * @throws ApiError 404 `item_not_found`.
   */
  async load(
    caller: Caller,
    id: string,
    manager: EntityManager = this.dataSource.manager,
  ): Promise<SeenItem> {
    const [item] = UUID.test(id) ? await this.matching(caller, `i.id = $id`, { id }, 1, manager) : [];
    if (!item) throw new ApiError('item_not_found');
    return item;
  }

  /** Returns the held versions of an entry, or of one of its versions, that the caller sees. */
  async holding(
    caller: Caller,
    {
      type,
      name,
      version,
    }: { readonly type: string; readonly name: string; readonly version?: string | undefined },
  ): Promise<readonly SeenItem[]> {
    if (![type, name, version ?? ''].every(isStorable)) return [];
    const condition = `i.status = 'held' and i.change is null and i.type = $type::text and i.name = $name::text
      and ($version::text is null or i.version = $version::text)`;
    const values = { type, name, version: version ?? null };
    return this.matching(caller, condition, values, MAX_HOLDING);
  }

  /** @param condition SQL about the item `i`, its source `s` and the relations of SELECT, with named parameters. */
  async matching(
    caller: Caller,
    condition: string,
    named: Readonly<Record<string, unknown>>,
    limit: number,
    manager: EntityManager = this.dataSource.manager,
  ): Promise<SeenItem[]> {
    const { person, managed, reviewed } = await this.viewerOf(manager, caller);
    const isReviewing = reviewed !== null && reviewed.own.length > 0;
    const seen = [
      ...(person ? [`i.publisher_key = $person::bytea`] : []),
      ...(managed.length > 0 ? [`i.source_id = any($managed::int[])`] : []),
      ...(isReviewing
        ? [`(i.source_id = $reviewed and rule.position = any($own::int[]) and ${REACHED})`]
        : []),
    ];
    if (seen.length === 0) return [];
    const patterns = (reviewed?.rules ?? []).flatMap(({ names }, position) =>
      names.map((glob) => ({ position, pattern: likePattern(glob) })),
    );
    const values: Record<string, unknown> = {
      ...named,
      person,
      managed,
      reviewed: reviewed?.id ?? null,
      own: reviewed?.own ?? [],
      reached: isReviewing ? await this.reachedClaims(manager, caller, reviewed.id) : [],
      patterns: patterns.map(({ pattern }) => pattern),
      positions: patterns.map(({ position }) => position),
      limit,
    };
    const { text, values: parameters } = bind(
      `${SELECT} where (${seen.join(' or ')}) and ${condition} order by i.created_at desc, i.id desc limit $limit::int`,
      values,
    );
    const rows = await manager.query<Row[]>(text, parameters);
    return rows.map(({ rule, ...row }) => ({
      ...row,
      required: approvalsOf(rule === null ? undefined : reviewed?.rules[rule]),
    }));
  }

  /** Returns the claims, before and after changes, of the managed source's items that the caller reaches, as JSON. */
  private async reachedClaims(manager: EntityManager, caller: Caller, sourceId: number): Promise<string[]> {
    const rows = await manager.query<{ text: string }[]>(
      `select claims::text as text from admission_item where source_id = $1 and claims is not null
       union select (change -> 'claims')::text from admission_item where source_id = $1 and change ? 'claims'`,
      [sourceId],
    );
    return rows
      .map(({ text }) => text)
      .filter((text) => this.policy.mayManage(caller, JSON.parse(text) as Claims));
  }

  private async viewerOf(manager: EntityManager, caller: Caller): Promise<Viewer> {
    const sources = await manager.query<
      { id: number; claimSetId: number; kind: string; review: readonly ReviewRule[] | null }[]
    >(`select id, claim_set_id as "claimSetId", kind, settings -> 'review' as review from source`);
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

/** SQL condition: the caller reaches the claims of the item, and those that it would get. */
const REACHED = `(i.claims is null or i.claims = any($reached::jsonb[]))
  and (not coalesce(i.change ? 'claims', false) or i.change -> 'claims' = any($reached::jsonb[]))`;

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
left join lateral (
  select min(r.position) as position from unnest($patterns::text[], $positions::int[]) as r(pattern, position)
  where i.source_id = $reviewed::int and lower(i.name) like r.pattern
) rule on true
cross join lateral (
  select count(*)::int as given, coalesce(bool_or(d.by_key = $person::bytea), false) as has
  from admission_decision d where d.item_id = i.id and d.decision = 'approve'
) approvals
cross join lateral (
  select not coalesce(i.publisher_key = $person::bytea, false)
    and case when rule.position is null then i.source_id = any($managed::int[])
      else rule.position = any($own::int[]) and ${REACHED} end as is
) decidable`;

/** Converts a glob to a pattern for LIKE on lower-case names. */
function likePattern(glob: string): string {
  return glob
    .toLowerCase()
    .replaceAll(/[\\%_]/g, (special) => `\\${special}`)
    .replaceAll('*', '%')
    .replaceAll('?', '_');
}
