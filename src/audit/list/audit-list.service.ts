import { Injectable } from '@nestjs/common';
import type { Caller, Client } from '../../auth/caller.js';
import { AccessPolicy } from '../../authz/access-policy.js';
import { SearchPool, SearchTimeout, type StatementRunner } from '../../database/search-pool.js';
import { ApiError } from '../../http/errors.js';
import { JsonLines, JsonText } from '../../http/json-answers.js';
import { PoolShares, TURN_TIMEOUT_MS } from '../../limits/semaphore.js';
import { type AuditListRequest, auditListRequest, nextCursor } from './audit-list-request.js';
import type { AuditListParameters } from './audit-list.dto.js';
import { type EventRow, knownScopes, newestEvents } from './audit-page.queries.js';
import { knowsAllEvents, mayKnow } from './event-visibility.js';

/** Of one page. */
const MAX_CHARACTERS = 1_024 * 1_024;
/** Of what is read at a time of a stream: each holds as much while its client does not read. */
const MAX_CHUNK_CHARACTERS = 256 * 1_024;
const EVENTS_PER_CHUNK = 500;
const TIMEOUT_MS = 10_000;

/** Who asks, and which of the events there are they may see; null: all of them. */
interface Reader {
  readonly who: string;
  readonly gone: AbortSignal;
  readonly scopes: readonly Buffer[] | null;
}

/** A part of a stream, and what is to be read next. */
interface Lines {
  readonly text: string;
  readonly count: number;
  readonly rest: AuditListRequest | undefined;
}

/**
 * Lists of audit events (contract §9), of each caller those that they may know. Statements that read them take turns with other long lists, and end when their client
 * goes away.
 */
@Injectable()
export class AuditListService {
  constructor(
    private readonly policy: AccessPolicy,
    private readonly shares: PoolShares,
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

  /** A line for each event, up to `limit` if it is given. Read by and by, as fast as the client takes them. */
  async lines(caller: Caller, client: Client, query: AuditListParameters): Promise<JsonLines> {
    const request = auditListRequest(query);
    const reader = await this.readerOf(caller, client);
    const most = query.limit ? request.limit : Infinity;
    // Before the answer begins: it can still be a refusal.
    const first = await this.readLines(reader, request, most);
    const following = (rest: AuditListRequest, left: number) => this.readLines(reader, rest, left);
    return new JsonLines(linesFrom(first, most, following), reader.gone);
  }

  private async readLines(reader: Reader, request: AuditListRequest, most: number): Promise<Lines> {
    const limit = Math.min(most, EVENTS_PER_CHUNK);
    const { rows, rest } = await this.read(reader, request, limit, MAX_CHUNK_CHARACTERS);
    return { text: rows.map((row) => `${describe(row, reader)}\n`).join(''), count: rows.length, rest };
  }

  private async readerOf(caller: Caller, client: Client): Promise<Reader> {
    const everything = { who: client.keyOf(caller), gone: client.gone(), scopes: null };
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

  /** @returns the rest: what is to be read next; undefined when that was all. */
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
    { who, gone }: Pick<Reader, 'who' | 'gone'>,
    read: (statements: StatementRunner) => Promise<T>,
  ): Promise<T> {
    const giveBack = await this.shares.exports.take(who, TURN_TIMEOUT_MS, gone);
    try {
      const end = { who, deadline: performance.now() + TIMEOUT_MS, abandoned: gone };
      return await this.searches.run(end, read);
    } catch (error) {
      throw error instanceof SearchTimeout ? new ApiError('database_timeout') : error;
    } finally {
      giveBack();
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

// How many were lost is about everybody's events.
function describe({ id, time, dropped, event }: EventRow, { scopes }: Reader): string {
  const told = scopes === null && dropped !== null ? `,"dropped":${dropped}` : '';
  return `{"id":"${id}","time":"${time}"${told},${event.slice(1)}`;
}
