import { createHash } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { toStorable } from '../../database/columns.js';
import type { ListKey } from '../../documents/entry-types.js';
import { JsonSliceError } from '../../json/json-slices.js';
import {
  type HttpClient,
  OutboundError,
  type OutboundResponse,
  retryAfterMs,
  withoutQuery,
} from '../../outbound/http-client.js';
import { FetchError, MAX_PAGE_BYTES, MAX_PAGES, MAX_RUN_MS } from '../fetcher.js';
import type { MemoryShare } from '../read-memory.js';
import { pageTime } from './read-plan.js';
import { type Page, readPage } from './registry-page.js';

/** The pauses after which a request is made again, within one run; an upstream that asks for another one gets that. */
export const PAUSES_MS = [500, 1_000, 2_000];
/** Of one pause that the upstream asks for, and of all pauses of a run. */
export const LONGEST_PAUSE_MS = 60_000;
export const MAX_PAUSES_MS = 2 * LONGEST_PAUSE_MS;
/** The upstream has asked for patience, or is in trouble that may pass. */
export const PASSING = [429, 500, 502, 503, 504];
const PASSING_CODES = ['ECONNRESET', 'ECONNREFUSED', 'EPIPE', 'ETIMEDOUT', 'EAI_AGAIN', 'UND_ERR_SOCKET'];

/** Has a request failed by something that may pass? */
export function isPassing(error: unknown): boolean {
  if (!(error instanceof OutboundError)) return false;
  const cause = error.cause as NodeJS.ErrnoException | undefined;
  return PASSING_CODES.includes(cause?.code ?? '');
}

const PAGE_SIZE = 100;
/** What a page takes until it is read, by measurement: its bytes, its texts, and what they are parsed to. */
const PAGE_FACTOR = 4;
/** The upstream has answered, and not with a page. */
export class StatusError extends FetchError {
  constructor(
    readonly status: number,
    message: string,
    retryAfterMs: number | null = null,
  ) {
    super(message, retryAfterMs);
  }
}

/** Has the upstream answered with one of these statuses? */
export function isStatus(error: unknown, statuses: readonly number[]): boolean {
  return error instanceof StatusError && statuses.includes(error.status);
}

export interface RegistryOptions {
  /** The base of the registry, below which `v0.1` is. */
  readonly endpoint: string;
  readonly timeoutMs: number;
  readonly bearer: string | undefined;
  readonly allowPrivate: boolean;
  readonly signal: AbortSignal;
  readonly memory: MemoryShare;
}

/** A page, and when the upstream had put it together, by its own clock. */
export interface TimedPage extends Page {
  readonly readAt: number;
}

/** Asks another registry for its lists, in one run of one source. */
export class RegistryClient {
  private readonly base: string;
  private readonly startedAt = performance.now();
  private pages = 0;
  private pausedMs = 0;
  /** Of memory, for the page that is being read. */
  private held = 0;

  constructor(
    private readonly http: HttpClient,
    private readonly options: RegistryOptions,
  ) {
    this.base = `${options.endpoint.replace(/\/+$/, '')}/v0.1`;
  }

  /**
   * The pages of a list, to the last one.
   *
   * @throws StatusError for an answer that is none, also after some patience.
   * @throws FetchError when there is no answer, when it is no page, or when there is no end.
   */
  async *list(
    path: string,
    list: ListKey,
    query: Readonly<Record<string, string>> = {},
  ): AsyncGenerator<TimedPage> {
    const seen = new Set<string>();
    for (let cursor: string | null = null; ;) {
      const parameters: string = new URLSearchParams({
        limit: String(PAGE_SIZE),
        ...query,
        ...(cursor === null ? {} : { cursor }),
      }).toString();
      try {
        const page: TimedPage = await this.page(`${this.base}/${path}?${parameters}`, list);
        cursor = page.nextCursor;
        yield page;
      } finally {
        this.letGo();
      }
      if (cursor === null) return;
      const mark = createHash('sha256').update(cursor).digest('base64');
      if (seen.has(mark))
        throw new FetchError(`${this.base}/${path}: page ${seen.size + 1} leads back to an earlier one`);
      seen.add(mark);
    }
  }

  private async page(url: string, list: ListKey): Promise<TimedPage> {
    this.pages += 1;
    if (this.pages > MAX_PAGES) throw new FetchError(`${this.base}: there are more than ${MAX_PAGES} pages`);
    if (performance.now() - this.startedAt > MAX_RUN_MS)
      throw new FetchError(`${this.base}: reading it takes longer than an hour`);
    const { answer, readAt } = await this.answer(url);
    try {
      return { ...(await readPage(answer.bytes, list)), readAt };
    } catch (error) {
      if (!(error instanceof JsonSliceError)) throw error;
      throw new FetchError(
        `${withoutQuery(url)}: the answer is no page of an MCP registry: ${toStorable(error.message)}`,
      );
    }
  }

  // Tries again when that may help, within limits.
  private async answer(url: string): Promise<{ answer: OutboundResponse; readAt: number }> {
    for (const pause of [...PAUSES_MS, null]) {
      const sentAt = Date.now();
      const answer = await this.ask(url).catch((error: unknown) => {
        this.letGo();
        if (pause === null || !isPassing(error)) throw asFetchError(error);
        return null;
      });
      if (answer?.status === 200)
        return { answer, readAt: pageTime(answer.headers['date'], sentAt, Date.now()) };
      const asked = answer && retryAfterMs(answer.headers['retry-after'], Date.now());
      if (answer && (pause === null || !PASSING.includes(answer.status)))
        throw new StatusError(answer.status, `${withoutQuery(url)}: ${sentenceOf(answer.status)}`, asked);
      await this.pause(url, asked ?? pause ?? 0);
    }
    throw new Error('The last try neither succeeded nor failed');
  }

  private async ask(url: string): Promise<OutboundResponse> {
    const { timeoutMs, bearer, signal, allowPrivate } = this.options;
    return this.http.get(url, {
      headers: { accept: 'application/json' },
      ...(bearer === undefined ? {} : { authorization: `Bearer ${bearer}` }),
      timeoutMs,
      maxBytes: MAX_PAGE_BYTES,
      onBytes: (bytes) => this.hold(PAGE_FACTOR * bytes),
      allowPrivate,
      redirects: 'any-origin',
      signal,
    });
  }

  private hold(bytes: number): void {
    this.options.memory.add(bytes);
    this.held += bytes;
  }

  private letGo(): void {
    this.options.memory.release(this.held);
    this.held = 0;
  }

  private async pause(url: string, ms: number): Promise<void> {
    this.pausedMs += ms;
    if (ms > LONGEST_PAUSE_MS || this.pausedMs > MAX_PAUSES_MS)
      throw new FetchError(
        `${withoutQuery(url)}: the registry asks for a pause of ${Math.ceil(ms / 1000)} s, too long for one run`,
        ms,
      );
    await sleep(ms, undefined, { signal: this.options.signal });
  }
}

function asFetchError(error: unknown): unknown {
  return error instanceof OutboundError ? new FetchError(error.message) : error;
}

function sentenceOf(status: number): string {
  switch (status) {
    case 401:
      return 'status 401: the registry wants a token, or does not accept the one of api.tokenFile';
    case 403:
      return 'status 403: the registry does not let this token in';
    case 404:
      return 'status 404: there is no MCP registry; is the endpoint the base, without /v0.1?';
    default:
      return `the answer has status ${status}`;
  }
}

/** Statuses by which a server says that it does not know a parameter. */
const REFUSED = [400, 422];
/** How far before the time asked for a server may round, before it counts as one that does not know the parameter. */
export const ROUNDING_MS = 60 * 60 * 1_000;
/** Nothing has been updated since. */
const FAR_FUTURE = '9999-01-01T00:00:00Z';

/** Has the upstream refused a request because it does not know one of its parameters? */
export function refusesParameter(error: unknown): boolean {
  return isStatus(error, REFUSED);
}

/**
 * Does the upstream know `updated_since`? What has not been updated since may have become visible since, as it may here. A registry that
 * passes the parameter over shows everything at any time.
 */
export async function knowsUpdatedSince(client: RegistryClient): Promise<boolean> {
  try {
    const pages = client.list('servers', 'servers', { updated_since: FAR_FUTURE });
    for await (const { elements } of pages) return elements.length === 0;
  } catch (error) {
    if (!refusesParameter(error)) throw error;
  }
  return false;
}
