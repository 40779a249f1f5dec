import { Injectable } from '@nestjs/common';
import type { Caller, Client } from '../auth/caller.js';
import { AccessPolicy } from '../authz/access-policy.js';
import { PoolSemaphores } from '../database/pool-semaphores.js';
import { SearchPool, SearchTimeout, type StatementRunner } from '../database/search-pool.js';
import { ApiError } from '../http/errors.js';
import { JsonLines, JsonText } from '../http/json-answers.js';
import { decodeCursor, encodeCursor } from '../http/lists.js';
import { hasShape, IsInt, IsOptional, Validate, ValidateNested } from '../validation/class-validation.js';
import { type Issue, issue, parseTimestamp, storableText } from '../validation/value-checks.js';
import { type AuditScope, boundedText } from './audit-event.js';
import { type AuditListParameters, DEFAULT_EVENTS, MAX_EVENTS } from './audit-list.dto.js';
import { type EventConditions, type EventRow, knownScopes, newestEvents } from './audit-page.queries.js';

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

class CursorConditions implements EventConditions {
  @IsOptional() @Validate(storableText) readonly action?: string;
  @IsOptional() @Validate(storableText) readonly actor?: string;
  @IsOptional() @Validate(storableText) readonly target?: string;
  @IsOptional() @Validate(storableText) readonly outcome?: string;
  @Validate(uuid) readonly from: string;
  @Validate(uuid) readonly before: string;
}

/** The content of a cursor. It reveals nothing beyond the query and the events already returned. */
class AuditListCursor {
  @ValidateNested(() => CursorConditions) readonly conditions: CursorConditions;
  @IsInt(1, MAX_EVENTS) readonly limit: number;
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
  const { since, until, action, actor, target, outcome } = query;
  const filters = Object.entries({ action, actor, target, outcome }).flatMap(([name, value]) =>
    value ? [[name, boundedText(value)]] : [],
  );
  const conditions = {
    ...Object.fromEntries(filters),
    from: since ? firstIdAt(since) : FIRST_ID,
    before: until ? firstIdAt(until) : LAST_ID,
  };
  return { conditions, limit: limit ?? DEFAULT_EVENTS };
}

/** Encodes the request for the next page as a cursor. */
export function nextCursor({ conditions }: AuditListRequest, limit: number): string {
  return encodeCursor(LIST, { conditions, limit });
}

/** Returns the smallest UUIDv7 for a time; the first 48 bits are milliseconds since 1970 (RFC 9562 §5.7). */
function firstIdAt(moment: string): string {
  const ms = Math.min(Math.max(0, parseTimestamp(moment)?.getTime() ?? 0), LAST_MS);
  const hex = ms.toString(16).padStart(12, '0');
  return `${hex.slice(0, 8)}-${hex.slice(8)}${FIRST_ID.slice(13)}`;
}

function uuid(value: unknown): Issue[] {
  return typeof value === 'string' && UUID.test(value) ? [] : issue('must be an id');
}

/** contract §9: super-admins see all events. */
function knowsAllEvents(policy: AccessPolicy, caller: Caller): boolean {
  return policy.seesAll(caller);
}

/**
 * contract §9: managers with the matching role see an event if they cover the claims that its target had at that time.
 */
export function mayKnow(policy: AccessPolicy, caller: Caller, { role, claims }: AuditScope): boolean {
  return (
    policy.mayAct(caller, role) &&
    claims.every((one) =>
      role === 'manageEntries' ? policy.mayManage(caller, one) : policy.mayReach(caller, one),
    )
  );
}

/** Maximum number of characters in the events on a page. */
const MAX_CHARACTERS = 1_024 * 1_024;
/** Maximum number of characters in a chunk of a stream; each chunk stays in memory until the client has read it. */
const MAX_CHUNK_CHARACTERS = 256 * 1_024;
const EVENTS_PER_CHUNK = 500;
const TIMEOUT_MS = 10_000;

/** A caller who reads events. `scopes` contains digests of the scopes they may see; null means all events. */
interface Reader {
  readonly callerKey: string;
  readonly gone: AbortSignal;
  readonly scopes: readonly Buffer[] | null;
}

/** A chunk of a stream, and the request for the next chunk. */
interface Lines {
  readonly text: string;
  readonly count: number;
  readonly rest: AuditListRequest | undefined;
}

/**
 * Lists the audit events that a caller may see (contract §9). Its statements share a semaphore with other exports and
 * are canceled when the client disconnects.
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
    const reader = await this.readerOf(caller, client);
    const { rows, rest } = await this.read(reader, request, request.limit);
    const metadata = { count: rows.length, ...(rest ? { nextCursor: nextCursor(rest, request.limit) } : {}) };
    const events = rows.map((row) => describe(row, reader));
    return new JsonText(`{"events":[${events.join(',')}],"metadata":${JSON.stringify(metadata)}}`);
  }

  /** Streams one event per line as fast as the client reads, up to `limit` events if `limit` is given. */
  async lines(caller: Caller, client: Client, query: AuditListParameters): Promise<JsonLines> {
    const request = auditListRequest(query);
    const reader = await this.readerOf(caller, client);
    const most = query.limit ? request.limit : Infinity;
    // The first chunk is read before the response begins, while the response can still report an error.
    const first = await this.readLines(reader, request, most);
    const readMore = (rest: AuditListRequest, left: number) => this.readLines(reader, rest, left);
    return new JsonLines(linesFrom(first, most, readMore), reader.gone);
  }

  private async readLines(reader: Reader, request: AuditListRequest, most: number): Promise<Lines> {
    const limit = Math.min(most, EVENTS_PER_CHUNK);
    const { rows, rest } = await this.read(reader, request, limit, MAX_CHUNK_CHARACTERS);
    return { text: rows.map((row) => `${describe(row, reader)}\n`).join(''), count: rows.length, rest };
  }

  private async readerOf(caller: Caller, client: Client): Promise<Reader> {
    const everything = { callerKey: client.callerKey(caller), gone: client.abortSignal(), scopes: null };
    if (knowsAllEvents(this.policy, caller)) return everything;
    const scopes = await this.run(everything, async (statements) => {
      const visible: Buffer[] = [];
      for await (const known of knownScopes(statements))
        visible.push(
          ...known.filter(({ scope }) => mayKnow(this.policy, caller, scope)).map(({ digest }) => digest),
        );
      return visible;
    });
    return { ...everything, scopes };
  }

  /** @returns the events and the request for the next page, which is undefined after the last page. */
  private async read(
    reader: Reader,
    request: AuditListRequest,
    limit: number,
    characters = MAX_CHARACTERS,
  ): Promise<{ rows: readonly EventRow[]; rest: AuditListRequest | undefined }> {
    const most = { events: limit + 1, characters };
    const found = await this.run(reader, (statements) =>
      newestEvents(statements, request.conditions, reader.scopes, most),
    );
    const rows = found.slice(0, limit);
    const last = rows.at(-1);
    const isFull = found.length > limit || sizeOf(found) >= characters;
    if (!last || !isFull) return { rows, rest: undefined };
    return { rows, rest: { ...request, conditions: { ...request.conditions, before: last.id } } };
  }

  private async run<T>(
    { callerKey, gone }: Pick<Reader, 'callerKey' | 'gone'>,
    read: (statements: StatementRunner) => Promise<T>,
  ): Promise<T> {
    const release = await this.semaphores.exports.acquire(callerKey, gone);
    try {
      const end = { callerKey, deadline: performance.now() + TIMEOUT_MS, signal: gone };
      return await this.searches.run(end, read);
    } catch (error) {
      throw error instanceof SearchTimeout ? new ApiError('database_timeout') : error;
    } finally {
      release();
    }
  }
}

async function* linesFrom(
  first: Lines,
  most: number,
  read: (rest: AuditListRequest, left: number) => Promise<Lines>,
): AsyncGenerator<string> {
  let [lines, left] = [first, most];
  for (;;) {
    if (lines.count > 0) yield lines.text;
    left -= lines.count;
    if (!lines.rest || left <= 0) return;
    lines = await read(lines.rest, left);
  }
}

function sizeOf(rows: readonly EventRow[]): number {
  return rows.reduce((sum, { event }) => sum + event.length, 0);
}

// `dropped` counts the events of all callers, so only super-admins see it.
function describe({ id, time, dropped, event }: EventRow, { scopes }: Reader): string {
  const lost = scopes === null && dropped !== null ? `,"dropped":${dropped}` : '';
  return `{"id":"${id}","time":"${time}"${lost},${event.slice(1)}`;
}
