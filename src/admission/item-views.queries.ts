import { Inject, Injectable } from '@nestjs/common';
import type { ConfigType } from '@nestjs/config';
import { DataSource, type EntityManager, In } from 'typeorm';
import type { Caller } from '../auth/caller.js';
import { AccessPolicy } from '../authz/access-policy.js';
import type { Claims } from '../claims/claims.js';
import { contentConfig } from '../config/slices.js';
import { itemContentState } from '../entry-store/entry-content.queries.js';
import { JsonText } from '../http/json-answers.js';
import { jsonDiff } from '../json/json-diff.js';
import { decodeCursor, encodeCursor, MAX_PAGE_BYTES } from '../http/lists.js';
import { hasShape } from '../validation/class-validation.js';
import { isStorable } from '../validation/storable-text.js';
import { AdmissionCursor, type AdmissionFilters, type AdmissionListParameters } from './admission.dto.js';
import { AdmissionDecision } from './admission.entity.js';
import { type ItemPlace, type MatchingItems, type SeenItem, SeenItems } from './seen-items.queries.js';
import { shownReasons } from './hold-reason.js';

/** The document of an item, and the served version of its entry. */
interface StoredDocuments {
  readonly document: string | null;
  /** The served version, if it has this document. */
  readonly same: string | null;
  readonly served: string | null;
  readonly latest: string | null;
  readonly servedClaims: Claims | null;
  /** The members as JSON text; null if no content is stored. */
  readonly members: string | null;
  readonly servedMembers: string | null;
  /** The state of the content, as JSON text; null for servers. */
  readonly content: string | null;
}

const LIST = 'admission';
const DEFAULT_PAGE = 100;
/** Number of items whose decisions are read in one statement. */
const ITEMS_PER_READ = 16;

/** Shows held versions and changes, and the decisions about them (reference/admission). */
@Injectable()
export class ItemViews {
  constructor(
    private readonly dataSource: DataSource,
    private readonly policy: AccessPolicy,
    private readonly items: SeenItems,
    @Inject(contentConfig.KEY) private readonly content: ConfigType<typeof contentConfig>,
  ) {}

  /** Returns one item with its document, its decisions and its difference from the served version. */
  async get(caller: Caller, id: string): Promise<JsonText> {
    return new JsonText(await this.describe(caller, id));
  }

  async describe(caller: Caller, id: string): Promise<string> {
    const { manager } = this.dataSource;
    const item = await this.items.load(caller, id, manager);
    const decisions = await decisionsOf(manager, [item.id]);
    const shown = JSON.stringify(itemAnswer(item, decisions, this.reaches(caller, item)));
    const [stored] = await manager.query<StoredDocuments[]>(
      `select i.document, case when v.digest = i.digest then v.document end as same, coalesce(v.document, l.document) as served, coalesce(v.version, l.version) as latest, c.claims as "servedClaims",
         coalesce(t.members, case when v.digest = i.digest then st.members end)::text as members, st.members::text as "servedMembers",
         case when i.type <> 'server' and i.status = 'held' then ${itemContentState('$2::boolean')} end::text as content
       from admission_item i
       left join entry e on e.source_id = i.source_id and e.type = i.type and e.name = i.name
       left join claim_set c on c.id = e.claim_set_id
       left join entry_version v on v.entry_id = e.id and v.version = i.version
       left join entry_version l on l.entry_id = e.id and l.is_latest
       left join content_tree t on t.digest = i.content_tree
       left join version_content sc on sc.version_id = coalesce(v.id, l.id)
       left join content_tree st on st.digest = sc.tree
       where i.id = $1 and i.change is null`,
      [id, this.content.fetchHosts.length > 0],
    );
    if (!stored) return shown;
    const { served, latest, same, servedClaims, members, servedMembers, content } = stored;
    // The claims of the entry may have changed since the item was first seen.
    const maySee = item.isManager || (servedClaims !== null && this.policy.mayManage(caller, servedClaims));
    const document = stored.document ?? (maySee ? same : null);
    if (document === null) return shown;
    const more = [`"document":${document}`];
    if (content !== null) more.push(`"content":${content}`);
    if (members !== null) more.push(`"members":${members}`);
    if (item.status === 'held' && served !== null && maySee) {
      const diff = [
        ...diffOf(served, document),
        ...(members === null ? [] : diffOf(servedMembers ?? '{}', members, '/members')),
      ];
      more.push(`"replaces":${JSON.stringify({ version: latest, diff })}`, `"served":${served}`);
    }
    return `${shown.slice(0, -1)},${more.join(',')}}`;
  }

  /** Returns a page of the items that the caller sees, newest first: held ones by default. */
  async list(caller: Caller, query: AdmissionListParameters): Promise<JsonText> {
    const { manager } = this.dataSource;
    const before = query.cursor ? decodeCursor(LIST, query.cursor, hasShape(AdmissionCursor)) : undefined;
    const filters = before?.filters ?? filtersOf(query);
    const limit = query.limit ? Number(query.limit) : (before?.limit ?? DEFAULT_PAGE);
    const conditions = [
      `i.status = $status::text`,
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
      status: filters.status ?? 'held',
      source: filters.source,
      type: filters.type,
      name: filters.name,
      reason: JSON.stringify([{ policy: filters.reason }]),
      afterAt: before?.at,
      afterId: before?.id,
    };
    const isEmpty = Object.values(filters).some((value) => typeof value === 'string' && !isStorable(value));
    const isWanted = ({ isDecidable }: SeenItem) => !filters.decidable || isDecidable;
    const found = isEmpty
      ? { items: [], reached: null }
      : await this.items.matching(caller, conditions.join(' and '), values, limit + 1, manager, isWanted);
    return new JsonText(await this.page(manager, caller, found, { filters, limit }));
  }

  /** Even the publisher needs this check: the entry may now have claims that they do not cover. */
  private reaches(caller: Caller, { isManager, claims, sourceClaims }: SeenItem): boolean {
    return isManager || this.policy.mayManage(caller, claims ?? sourceClaims);
  }

  private async page(
    manager: EntityManager,
    caller: Caller,
    { items, reached }: MatchingItems,
    { filters, limit }: { readonly filters: AdmissionFilters; readonly limit: number },
  ): Promise<string> {
    const texts: string[] = [];
    let bytes = 0;
    let last: ItemPlace | undefined;
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
    const end = texts.length < items.length ? last : reached;
    const next = end
      ? { nextCursor: encodeCursor(LIST, { filters, limit, at: end.createdAt.toISOString(), id: end.id }) }
      : {};
    return `{"items":[${texts.join(',')}],"metadata":${JSON.stringify({ count: texts.length, ...next })}}`;
  }
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

function decisionsOf(manager: EntityManager, ids: readonly string[]): Promise<AdmissionDecision[]> {
  return manager.find(AdmissionDecision, { where: { itemId: In(ids) }, order: { id: 'ASC' } });
}

/** Returns an item as the API shows it (reference/admission). */
function itemAnswer(item: SeenItem, decisions: readonly AdmissionDecision[], showsClaims: boolean): object {
  const { id, source, type, name, version, status, publishedAt, dueAt, publisher, change } = item;
  return {
    ...{ id, source, type, name },
    ...(version === null ? {} : { version }),
    status,
    reasons: shownReasons(item.reasons),
    digest: item.digest.toString('hex'),
    firstSeenAt: item.firstSeenAt,
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

/** Returns the JSON Patch between two JSON texts, with paths below `path`. */
function diffOf(before: string, after: string, path = ''): object[] {
  if (Math.max(Buffer.byteLength(before), Buffer.byteLength(after)) > MAX_COMPARED_BYTES)
    return before === after ? [] : [{ op: 'replace', path, value: JSON.parse(after) as unknown }];
  const operations = jsonDiff(JSON.parse(before), JSON.parse(after));
  return operations.map((operation) => ({ ...operation, path: `${path}${operation.path}` }));
}
