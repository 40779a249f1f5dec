import { Injectable } from '@nestjs/common';
import { Type } from 'class-transformer';
import { IsDefined, IsInt, IsOptional, Matches, Max, Min, ValidateNested } from 'class-validator';
import { LRUCache } from 'lru-cache';
import { type Caller, callerKeyOf } from '../auth/caller.js';
import { AccessPolicy } from '../authz/access-policy.js';
import { PoolSemaphores } from '../database/connection-pool.js';
import { SearchPool, SearchTimeout, type StatementRunner } from '../database/search-pool.js';
import { ApiError } from '../http/errors.js';
import { CSV_TYPE, JsonText, StreamedLines } from '../http/json-answers.js';
import { decodeCursor, encodeCursor, MAX_PAGE_BYTES } from '../http/lists.js';
import type { Client } from '../http/request-context.js';
import { hasShape } from '../validation/class-validation.js';
import { IsStorable } from '../validation/decorators.js';
import { toStorable } from '../validation/storable-text.js';
import { parseTimestamp } from '../validation/value-checks.js';
import { type AuditScope, boundedText } from './audit-event.js';
import { CSV_HEAD, csvRecord } from './audit-csv.js';
import {
  type AuditEventAnswer,
  type AuditListParameters,
  DEFAULT_EVENTS,
  MAX_EVENTS,
} from './audit-list.dto.js';
import {
  type EventConditions,
  type EventRow,
  type EventViewer,
  type MostEvents,
  newestEvents,
  walkEvents,
  type WalkedEvents,
} from './audit-page.queries.js';

/** A request for the newest `limit` events that match the conditions. */
export interface AuditListRequest {
  readonly conditions: EventConditions;
  readonly limit: number;
}

const LIST = 'audit';
const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;
const FIRST_ID = '00000000-0000-0000-0000-000000000000';
const LAST_ID = 'ffffffff-ffff-ffff-ffff-ffffffffffff';
/** The largest timestamp in a UUIDv7: 48 bits. */
const LAST_MS = 2 ** 48 - 1;

const IS_ID = { message: 'must be an id' };

class CursorConditions implements EventConditions {
  @IsOptional() @IsStorable() readonly action?: string;
  @IsOptional() @IsStorable() readonly actor?: string;
  @IsOptional() @IsStorable() readonly subject?: string;
  @IsOptional() @IsStorable() readonly target?: string;
  @IsOptional() @IsStorable() readonly outcome?: string;
  @Matches(UUID, IS_ID) readonly from: string;
  @Matches(UUID, IS_ID) readonly before: string;
}

/** The content of a cursor: the query, and either the last event returned or a position that is not an event's ID. */
class AuditListCursor {
  @IsDefined() @ValidateNested() @Type(() => CursorConditions) readonly conditions: CursorConditions;
  @IsInt() @Min(1) @Max(MAX_EVENTS) readonly limit: number;
}

/**
 * Parses a query. A cursor contains the filters of the first page; filters sent with a cursor are ignored.
 *
 * @throws ApiError 400 `invalid_cursor`.
 */
function auditListRequest(query: AuditListParameters): AuditListRequest {
  const limit = query.limit ? Number(query.limit) : undefined;
  if (query.cursor) {
    const { conditions, limit: before } = decodeCursor(LIST, query.cursor, hasShape(AuditListCursor));
    return { conditions, limit: limit ?? before };
  }
  const { since, until, action, actor, subject, target, outcome } = query;
  const filters = Object.entries({
    action,
    actor: actor && toStorable(actor),
    subject: subject && toStorable(subject),
    target: target && boundedText(target),
    outcome,
  }).filter(([, value]) => value);
  const conditions = {
    ...Object.fromEntries(filters),
    from: since ? firstIdAt(since) : FIRST_ID,
    before: until ? firstIdAt(until) : LAST_ID,
  };
  return { conditions, limit: limit ?? DEFAULT_EVENTS };
}

/** Returns the smallest UUIDv7 for a time; the first 48 bits are milliseconds since 1970 (RFC 9562 §5.7). */
export function firstIdAt(moment: string): string {
  const ms = Math.min(Math.max(0, parseTimestamp(moment)?.getTime() ?? 0), LAST_MS);
  const hex = ms.toString(16).padStart(12, '0');
  return `${hex.slice(0, 8)}-${hex.slice(8)}${FIRST_ID.slice(13)}`;
}

/**
 * reference/audit: managers with the matching role see an event if they cover the claims that its target had at that time.
 */
function mayKnow(policy: AccessPolicy, caller: Caller, { role, claims }: AuditScope): boolean {
  return (
    policy.mayAct(caller, role) &&
    claims.every((one) =>
      role === 'manageEntries' ? policy.mayManage(caller, one) : policy.mayReach(caller, one),
    )
  );
}

/** Maximum number of characters in a chunk of a stream; each chunk stays in memory until the client has read it. */
const MAX_CHUNK_CHARACTERS = 256 * 1_024;
const EVENTS_PER_CHUNK = 500;
/** Interval between empty keep-alive lines; shorter than the idle timeouts of common proxies. */
const KEEP_ALIVE_MS = 30_000;
const TIMEOUT_MS = 10_000;

/**
 * Maximum duration of a walk. Without it, a caller who may see only a few of many events would wait too long for a
 * page.
 */
const WALK_MS = 1_000;
/** Number of scopes whose decision is cached during a request. */
const MAX_JUDGED = 10_000;

/** A caller who reads events. `viewer` is null if they see all events. */
interface Reader {
  readonly callerKey: string;
  readonly gone: AbortSignal;
  readonly viewer: EventViewer | null;
}

/** A chunk of a stream, and the request for the next chunk. */
interface Lines {
  readonly text: string;
  readonly count: number;
  readonly rest: AuditListRequest | undefined;
}

/**
 * Lists the audit events that a caller may see (reference/audit). Its statements share a semaphore with other exports.
 */
@Injectable()
export class AuditListService {
  constructor(
    private readonly policy: AccessPolicy,
    private readonly semaphores: PoolSemaphores,
    private readonly searches: SearchPool,
  ) {}

  async page(caller: Caller, client: Client, query: AuditListParameters): Promise<JsonText> {
    const request = auditListRequest(query);
    const reader = this.readerOf(caller, client);
    const { rows, rest } = await this.read(reader, request, request.limit);
    const next = rest && encodeCursor(LIST, { conditions: rest.conditions, limit: request.limit });
    const metadata = { count: rows.length, nextCursor: next };
    const events = rows.map((row) => describe(row, reader));
    return new JsonText(`{"events":[${events.join(',')}],"metadata":${JSON.stringify(metadata)}}`);
  }

  /** Streams one event per line as fast as the client reads, up to `limit` events if `limit` is given. */
  async lines(
    caller: Caller,
    client: Client,
    query: AuditListParameters,
    type: StreamedLines['type'],
  ): Promise<StreamedLines> {
    const request = auditListRequest(query);
    const reader = this.readerOf(caller, client);
    const most = query.limit ? request.limit : Infinity;
    // The first chunk is read before the response begins, while the response can still report an error.
    const first = await this.readLines(reader, request, most, type);
    // The caller's roles may change while the response is sent.
    const readMore = (rest: AuditListRequest, left: number) =>
      this.readLines({ ...reader, viewer: this.viewerOf(caller) }, rest, left, type);
    const head = type === CSV_TYPE ? CSV_HEAD : '';
    return new StreamedLines(
      type,
      linesFrom(first, most, readMore, head),
      reader.gone,
      callerKeyOf(caller, client),
    );
  }

  private async readLines(
    reader: Reader,
    request: AuditListRequest,
    most: number,
    type: StreamedLines['type'],
  ): Promise<Lines> {
    const limit = Math.min(most, EVENTS_PER_CHUNK);
    const { rows, rest } = await this.read(reader, request, limit, MAX_CHUNK_CHARACTERS);
    const lines = rows.map((row) => {
      const event = describe(row, reader);
      return type === CSV_TYPE ? csvRecord(JSON.parse(event) as AuditEventAnswer) : `${event}\n`;
    });
    return { text: lines.join(''), count: rows.length, rest };
  }

  private readerOf(caller: Caller, client: Client): Reader {
    return {
      callerKey: callerKeyOf(caller, client),
      gone: client.abortSignal(),
      viewer: this.viewerOf(caller),
    };
  }

  private viewerOf(caller: Caller): Reader['viewer'] {
    if (this.policy.seesAll(caller)) return null;
    return {
      sees: (scope) => mayKnow(this.policy, caller, scope),
      judged: new LRUCache({ max: MAX_JUDGED }),
    };
  }

  /** @returns the events and the request for the next page, which is undefined after the last page. */
  private async read(
    reader: Reader,
    request: AuditListRequest,
    limit: number,
    characters = MAX_PAGE_BYTES,
  ): Promise<{ rows: readonly EventRow[]; rest: AuditListRequest | undefined }> {
    const most = { events: limit + 1, characters };
    const { rows: found, reached } = await this.find(reader, request.conditions, most);
    const rows = found.slice(0, limit);
    const isFull = found.length > limit || sizeOf(found) >= characters;
    const before = isFull ? rows.at(-1)?.id : reached;
    const rest =
      before === undefined ? undefined : { ...request, conditions: { ...request.conditions, before } };
    return { rows, rest };
  }

  private async find(reader: Reader, conditions: EventConditions, most: MostEvents): Promise<WalkedEvents> {
    const { viewer } = reader;
    if (!viewer)
      return { rows: await this.run(reader, (statements) => newestEvents(statements, conditions, most)) };
    // Each slice takes its own permit, so that callers take turns.
    return walkEvents(
      (read) => this.run(reader, read),
      conditions,
      viewer,
      most,
      performance.now() + WALK_MS,
    );
  }

  private async run<T>(
    { callerKey, gone }: Reader,
    read: (statements: StatementRunner) => Promise<T>,
  ): Promise<T> {
    try {
      return await this.semaphores.exports.run(callerKey, gone, () =>
        this.searches.run({ callerKey, deadline: performance.now() + TIMEOUT_MS, signal: gone }, read),
      );
    } catch (error) {
      throw error instanceof SearchTimeout ? new ApiError('database_timeout') : error;
    }
  }
}

/** Yields the head and the text of all chunks, and an empty line after KEEP_ALIVE_MS without events. */
export async function* linesFrom(
  first: Lines,
  most: number,
  read: (rest: AuditListRequest, left: number) => Promise<Lines>,
  head = '',
): AsyncGenerator<string> {
  if (head !== '') yield head;
  let [lines, left] = [first, most];
  let sentAt = performance.now();
  for (;;) {
    if (lines.count > 0 || performance.now() - sentAt >= KEEP_ALIVE_MS) {
      yield lines.text || '\n';
      sentAt = performance.now();
    }
    left -= lines.count;
    if (!lines.rest || left <= 0) return;
    lines = await read(lines.rest, left);
  }
}

function sizeOf(rows: readonly EventRow[]): number {
  return rows.reduce((sum, { event }) => sum + event.length, 0);
}

// `dropped` counts the events of all callers, so only super-admins see it.
function describe({ id, time, dropped, event }: EventRow, { viewer }: Reader): string {
  const lost = viewer === null && dropped !== null ? `,"dropped":${dropped}` : '';
  return `{"id":"${id}","time":"${time}"${lost},${event.slice(1)}`;
}
