import { createHash } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { withoutQuery } from '../../validation/redaction.js';
import { toStorable } from '../../validation/storable-text.js';
import type { ListKey } from '../../documents/entry-types.js';
import { JsonSliceError } from '../../json/json-slices.js';
import { asFetchError, FetchError } from '../../outbound/fetch-error.js';
import {
  type HttpClient,
  OutboundError,
  type OutboundResponse,
  retryAfterMs,
} from '../../outbound/http-client.js';
import type { MemoryShare } from '../read-memory.js';
import { pageTime } from './incremental-sync.js';
import type { Page } from './registry-page.js';

/** Delays before each retry of a request, unless the upstream sends Retry-After. */
const RETRY_DELAYS_MS = [500, 1_000, 2_000];
/** Limits for one requested delay and for all delays in a run. */
const MAX_DELAY_MS = 60_000;
const MAX_DELAYS_MS = 2 * MAX_DELAY_MS;
/** Status codes of temporary failures. */
const RETRYABLE = [429, 500, 502, 503, 504];
const RETRYABLE_CODES = ['ECONNRESET', 'ECONNREFUSED', 'EPIPE', 'ETIMEDOUT', 'EAI_AGAIN', 'UND_ERR_SOCKET'];
const PAGE_SIZE = 100;
const MAX_PAGES = 20_000;
const MAX_PAGE_BYTES = 16 * 1024 * 1024;
/** A slow upstream must not keep other large sources waiting for long. */
const MAX_RUN_MS = 20 * 60 * 1_000;
/** Measured memory per byte of a page while it is read, including texts and parsed values. */
const PAGE_FACTOR = 4;
/** Status codes from servers that don't support a query parameter. */
const UNSUPPORTED_PARAMETER = [400, 422];
/** How far a server may round `updated_since` down. Earlier updates suggest that it ignores the parameter. */
export const ROUNDING_MS = 60 * 60 * 1_000;
/** Later than any update. */
const FAR_FUTURE = '9999-01-01T00:00:00Z';

/** The upstream responded with a status that is not 200. */
class StatusError extends FetchError {
  constructor(
    readonly status: number,
    message: string,
    retryAfterMs: number | null = null,
  ) {
    super(message, retryAfterMs);
  }
}

/** Returns whether the error means that the upstream responded with one of these statuses. */
export function hasStatus(error: unknown, statuses: readonly number[]): boolean {
  return error instanceof StatusError && statuses.includes(error.status);
}

interface RegistryOptions {
  /** The base URL, without `/v0.1`. */
  readonly endpoint: string;
  readonly timeoutMs: number;
  readonly bearer: string | undefined;
  readonly allowPrivate: boolean;
  readonly signal: AbortSignal;
  readonly memory: MemoryShare;
  readonly readPage: (bytes: Buffer, list: ListKey) => Promise<Page>;
}

/** A page, with the upstream's time when it read the page, in milliseconds. */
interface TimedPage extends Page {
  readonly readAt: number;
}

/** Requests lists from another registry, during one run of a source. */
export class RegistryClient {
  private readonly base: string;
  private readonly startedAt = performance.now();
  private pages = 0;
  private delayedMs = 0;
  /** Bytes counted toward the memory limit for the current page. */
  private held = 0;

  constructor(
    private readonly http: HttpClient,
    private readonly options: RegistryOptions,
  ) {
    this.base = `${options.endpoint.replace(/\/+$/, '')}/v0.1`;
  }

  /**
   * Yields all pages of a list.
   *
   * @throws StatusError for an error status that remains after all retries.
   * @throws FetchError if there is no response, the response is not a page, or the list does not end.
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
        this.release();
      }
      if (cursor === null) return;
      const digest = createHash('sha256').update(cursor).digest('base64');
      if (seen.has(digest))
        throw new FetchError(
          `${this.base}/${path}: the cursor of page ${seen.size + 1} is the same as an earlier one`,
        );
      seen.add(digest);
    }
  }

  private async page(url: string, list: ListKey): Promise<TimedPage> {
    this.pages += 1;
    if (this.pages > MAX_PAGES) throw new FetchError(`${this.base}: it has more than ${MAX_PAGES} pages`);
    if (performance.now() - this.startedAt > MAX_RUN_MS)
      throw new FetchError(`${this.base}: reading it takes longer than ${MAX_RUN_MS / 60_000} minutes`);
    const { response, readAt } = await this.request(url);
    try {
      return { ...(await this.options.readPage(response.bytes, list)), readAt };
    } catch (error) {
      if (!(error instanceof JsonSliceError)) throw error;
      throw new FetchError(
        `${withoutQuery(url)}: the response is not a page of an MCP registry: ${toStorable(error.message)}`,
      );
    }
  }

  /** Retries temporary failures. */
  private async request(url: string): Promise<{ response: OutboundResponse; readAt: number }> {
    for (const delay of [...RETRY_DELAYS_MS, null]) {
      const sentAt = Date.now();
      const response = await this.send(url).catch((error: unknown) => {
        this.release();
        if (delay === null || !isRetryable(error)) throw asFetchError(error, this.options.allowPrivate);
        return null;
      });
      if (response?.status === 200)
        return { response, readAt: pageTime(response.headers['date'], sentAt, Date.now()) };
      const requested = response && retryAfterMs(response.headers['retry-after'], Date.now());
      if (response && (delay === null || !RETRYABLE.includes(response.status)))
        throw new StatusError(
          response.status,
          `${withoutQuery(url)}: ${sentenceOf(response.status)}`,
          requested,
        );
      await this.delay(url, requested ?? delay ?? 0);
    }
    throw new Error('The last attempt neither succeeded nor failed');
  }

  private async send(url: string): Promise<OutboundResponse> {
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

  private release(): void {
    this.options.memory.release(this.held);
    this.held = 0;
  }

  private async delay(url: string, ms: number): Promise<void> {
    this.delayedMs += ms;
    if (ms > MAX_DELAY_MS || this.delayedMs > MAX_DELAYS_MS)
      throw new FetchError(
        `${withoutQuery(url)}: the registry requests a delay of ${Math.ceil(ms / 1000)} s (Retry-After), too long for one run`,
        ms,
      );
    await sleep(ms, undefined, { signal: this.options.signal });
  }
}

function isRetryable(error: unknown): boolean {
  if (!(error instanceof OutboundError)) return false;
  const cause = error.cause as NodeJS.ErrnoException | undefined;
  return RETRYABLE_CODES.includes(cause?.code ?? '');
}

function sentenceOf(status: number): string {
  switch (status) {
    case 401:
      return 'status 401: the registry requires a token, or refuses the one in api.tokenFile';
    case 403:
      return 'status 403: the registry denies access with this token';
    case 404:
      return 'status 404: there is no MCP registry; the endpoint must be its base URL, without /v0.1';
    default:
      return `the response has status ${status}`;
  }
}

/** Returns whether the upstream refused a request because of an unsupported query parameter. */
export function refusesParameter(error: unknown): boolean {
  return hasStatus(error, UNSUPPORTED_PARAMETER);
}

/**
 * Tests whether the upstream supports `updated_since` by sending a future time: a registry that ignores the parameter
 * lists everything. Earlier updates on a page prove nothing, because an entry may become visible long after its update.
 */
export async function supportsUpdatedSince(client: RegistryClient): Promise<boolean> {
  try {
    const pages = client.list('servers', 'servers', { updated_since: FAR_FUTURE });
    for await (const { versions } of pages) return versions.length === 0;
  } catch (error) {
    if (!refusesParameter(error)) throw error;
  }
  return false;
}
