import { Injectable } from '@nestjs/common';
import { DataSource, type EntityManager } from 'typeorm';
import type { Publisher } from '../audit/audit-event.js';
import type { Caller } from '../auth/caller.js';
import { AccessPolicy } from '../authz/access-policy.js';
import { ReachableClaimSets } from '../claim-sets/reachable-claim-sets.queries.js';
import type { Claims } from '../claims/claims.js';
import type { EntryType } from '../documents/entry-types.js';
import {
  type HoldReason,
  type ItemChange,
  type ReviewRule,
  shownReasons,
} from '../entries/admission-gate.js';
import { bind } from '../database/statements.js';
import { ApiError } from '../http/errors.js';
import { JsonText } from '../http/json-answers.js';
import { jsonDiff } from '../json/json-diff.js';
import { decodeCursor, encodeCursor } from '../http/lists.js';
import { MANAGED_KIND } from '../source-kinds/kinds.js';
import { hasShape } from '../validation/class-validation.js';
import { isStorable } from '../validation/storable-text.js';
import { AdmissionCursor, type AdmissionFilters, type AdmissionListParameters } from './admission.dto.js';
import type { Decision, ItemStatus } from './admission.entity.js';
import { approvalsOf, isReviewer, personKey } from './review.js';

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

interface DecisionRow {
  readonly itemId: string;
  readonly decision: Decision;
  readonly by: Publisher | null;
  readonly at: Date;
  readonly comment: string | null;
}

/** The document of an item, and what is served of its entry. */
interface StoredDocuments {
  readonly document: string | null;
  /** What is served of the version, if it is this document. */
  readonly same: string | null;
  readonly served: string | null;
  readonly latest: string | null;
  readonly servedClaims: Claims | null;
}

const LIST = 'admission';
const DEFAULT_PAGE = 100;
const MAX_PAGE_BYTES = 1_024 * 1_024;
/** Items whose decisions are read at once. */
const ITEMS_PER_READ = 16;
const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

/** Shows held versions and changes, and the decisions about them (contract §11). */
@Injectable()
export class ItemViews {
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
    const viewer = UUID.test(id) ? await this.viewerOf(manager, caller) : null;
    const [item] = viewer ? await this.select(manager, caller, viewer, `i.id = $id`, { id }, 1) : [];
    if (!item) throw new ApiError('item_not_found');
    return item;
  }

  /** Returns one item with its document, its decisions, and how it differs from what is served. */
  async get(caller: Caller, id: string): Promise<JsonText> {
    return new JsonText(await this.describe(caller, id));
  }

  async describe(
    caller: Caller,
    id: string,
    manager: EntityManager = this.dataSource.manager,
  ): Promise<string> {
    const item = await this.load(caller, id, manager);
    const decisions = await decisionsOf(manager, [item.id]);
    const shown = JSON.stringify(itemAnswer(item, decisions, this.reaches(caller, item)));
    const [stored] = await manager.query<StoredDocuments[]>(
      `select i.document, case when v.digest = i.digest then v.document end as same, coalesce(v.document, l.document) as served, coalesce(v.version, l.version) as latest, c.claims as "servedClaims"
       from admission_item i
       left join entry e on e.source_id = i.source_id and e.type = i.type and e.name = i.name
       left join claim_set c on c.id = e.claim_set_id
       left join entry_version v on v.entry_id = e.id and v.version = i.version
       left join entry_version l on l.entry_id = e.id and l.is_latest
       where i.id = $1 and i.change is null`,
      [id],
    );
    if (!stored) return shown;
    const { served, latest, same, servedClaims } = stored;
    // The claims of the entry may have changed since the item was first seen.
    const maySee = item.isManager || (servedClaims !== null && this.policy.mayManage(caller, servedClaims));
    const document = stored.document ?? (maySee ? same : null);
    if (document === null) return shown;
    const members = [`"document":${document}`];
    if (item.status === 'held' && served !== null && maySee)
      members.push(
        `"replaces":{"version":${JSON.stringify(latest)},"diff":${diffOf(served, document)}}`,
        `"served":${served}`,
      );
    return `${shown.slice(0, -1)},${members.join(',')}}`;
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
    const { manager } = this.dataSource;
    const condition = `i.status = 'held' and i.change is null and i.type = $type::text and i.name = $name::text
      and ($version::text is null or i.version = $version::text)`;
    const values = { type, name, version: version ?? null };
    return this.select(
      manager,
      caller,
      await this.viewerOf(manager, caller),
      condition,
      values,
      DEFAULT_PAGE,
    );
  }

  /** Returns a page of the items that the caller sees, newest first; held ones unless a status is given. */
  async list(caller: Caller, query: AdmissionListParameters): Promise<JsonText> {
    const { manager } = this.dataSource;
    const before = query.cursor ? decodeCursor(LIST, query.cursor, hasShape(AdmissionCursor)) : undefined;
    const filters = before?.filters ?? filtersOf(query);
    const limit = query.limit ? Number(query.limit) : (before?.limit ?? DEFAULT_PAGE);
    const conditions = [
      `i.status = any($statuses::text[])`,
      ...(filters.source === undefined ? [] : [`s.name = $source`]),
      ...(filters.type === undefined ? [] : [`i.type = $type`]),
      ...(filters.name === undefined ? [] : [`i.name = $name`]),
      ...(filters.reason === undefined ? [] : [`i.reasons @> $reason::jsonb`]),
      ...(filters.mine ? [`i.publisher_key = $person`] : []),
      ...(filters.decidable
        ? [`decidable.is and not approvals.has and i.status = 'held' and not i.is_approved`]
        : []),
      ...(before ? [`(i.created_at, i.id) < ($afterAt::timestamptz, $afterId::uuid)`] : []),
    ];
    const values = {
      statuses: [filters.status ?? 'held'],
      source: filters.source,
      type: filters.type,
      name: filters.name,
      reason: JSON.stringify([{ policy: filters.reason }]),
      afterAt: before?.at,
      afterId: before?.id,
    };
    const isEmpty = Object.values(filters).some((value) => typeof value === 'string' && !isStorable(value));
    const viewer = isEmpty ? null : await this.viewerOf(manager, caller);
    const items = viewer
      ? await this.select(manager, caller, viewer, conditions.join(' and '), values, limit + 1)
      : [];
    return new JsonText(await this.page(manager, caller, items, { filters, limit }));
  }

  /** An entry may since have been given claims that its publisher does not reach. */
  private reaches(caller: Caller, { isManager, claims, sourceClaims }: SeenItem): boolean {
    return isManager || this.policy.mayManage(caller, claims ?? sourceClaims);
  }

  private async page(
    manager: EntityManager,
    caller: Caller,
    items: readonly SeenItem[],
    { filters, limit }: { readonly filters: AdmissionFilters; readonly limit: number },
  ): Promise<string> {
    const texts: string[] = [];
    let bytes = 0;
    let last: SeenItem | undefined;
    const wanted = items.slice(0, limit);
    read: for (let start = 0; start < wanted.length; start += ITEMS_PER_READ) {
      const batch = wanted.slice(start, start + ITEMS_PER_READ);
      const decisions = await decisionsOf(
        manager,
        batch.map(({ id }) => id),
      );
      for (const item of batch) {
        const text = JSON.stringify(itemAnswer(item, decisions, this.reaches(caller, item)));
        bytes += Buffer.byteLength(text);
        if (texts.length > 0 && bytes > MAX_PAGE_BYTES) break read;
        texts.push(text);
        last = item;
      }
    }
    const next =
      last && texts.length < items.length
        ? {
            nextCursor: encodeCursor(LIST, { filters, limit, at: last.createdAt.toISOString(), id: last.id }),
          }
        : {};
    return `{"items":[${texts.join(',')}],"metadata":${JSON.stringify({ count: texts.length, ...next })}}`;
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

  private async select(
    manager: EntityManager,
    caller: Caller,
    { person, managed, reviewed }: Viewer,
    condition: string,
    named: Readonly<Record<string, unknown>>,
    limit: number,
  ): Promise<SeenItem[]> {
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

function filtersOf({
  status,
  source,
  type,
  name,
  reason,
  mine,
  decidable,
}: AdmissionListParameters): AdmissionFilters {
  const given = { status, source, type, name, reason };
  return {
    ...Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined && value !== '')),
    ...(mine === 'true' ? { mine: true } : {}),
    ...(decidable === 'true' ? { decidable: true } : {}),
  };
}

async function decisionsOf(manager: EntityManager, ids: readonly string[]): Promise<DecisionRow[]> {
  return manager.query<DecisionRow[]>(
    `select item_id as "itemId", decision, by, at, comment from admission_decision where item_id = any($1::uuid[]) order by id`,
    [ids],
  );
}

/** Returns an item as the API shows it (contract §11). */
function itemAnswer(item: SeenItem, decisions: readonly DecisionRow[], showsClaims: boolean): object {
  const {
    id,
    source,
    type,
    name,
    version,
    status,
    digest,
    firstSeenAt,
    publishedAt,
    dueAt,
    publisher,
    change,
  } = item;
  return {
    id,
    source,
    type,
    name,
    ...(version === null ? {} : { version }),
    status,
    reasons: shownReasons(item.reasons),
    digest: digest.toString('hex'),
    firstSeenAt,
    ...(publishedAt === null ? {} : { publishedAt }),
    ...(dueAt === null || status !== 'held' ? {} : { dueAt }),
    ...(publisher === null ? {} : { publisher }),
    ...(showsClaims ? { claims: item.claims ?? item.sourceClaims } : {}),
    approvals: { required: item.required, given: item.given },
    decisions: decisions
      .filter(({ itemId }) => itemId === id)
      .map(({ decision, by, at, comment }) => ({
        decision,
        by,
        at,
        ...(comment === null ? {} : { comment }),
      })),
    ...(change ? { change } : {}),
  };
}

/** Longer documents are not compared. */
const MAX_COMPARED_BYTES = 64 * 1_024;

/** Returns the JSON Patch from the served document, as JSON text. */
function diffOf(served: string, document: string): string {
  if (Math.max(Buffer.byteLength(served), Buffer.byteLength(document)) > MAX_COMPARED_BYTES)
    return `[{"op":"replace","path":"","value":${document}}]`;
  return JSON.stringify(jsonDiff(JSON.parse(served), JSON.parse(document)));
}
