import { createHash } from 'node:crypto';
import { type Dispatcher, request } from 'undici';
import type { ProxyServer } from '../config/config.js';
import { pathWithoutKeys } from '../config/registry-keys.js';
import {
  type ConnectionOptions,
  createDispatcher,
  createProxyDispatcher,
  DIRECT,
  proxyFor,
} from './dispatcher.js';
import { checkLiteralAddress } from './private-address.js';

/** Statuses of answers that lead elsewhere. */
export const REDIRECT_STATUSES = [301, 302, 303, 307, 308];

/** Which redirects are followed, and how many one after the other. */
export const REDIRECT_POLICIES = {
  /** For answers that are trusted because of the origin they come from. */
  'same-origin': { limit: 3, limitInWords: 'three' },
  /** Never from https to http. */
  'any-origin': { limit: 5, limitInWords: 'five' },
} as const;

export type RedirectPolicy = keyof typeof REDIRECT_POLICIES;

/**
 * Where a redirect leads to, or why it is not followed, as a part of a sentence.
 *
 * @param origin that of the first URL.
 */
export function redirectTarget(
  location: string,
  from: URL,
  origin: string,
  policy: RedirectPolicy,
): URL | string {
  const next = URL.canParse(location, from.href) ? new URL(location, from) : null;
  if (!next || !['http:', 'https:'].includes(next.protocol))
    return 'it redirects to something that is no web address';
  if (policy === 'same-origin' && next.origin !== origin)
    return 'it redirects to another origin, which is not followed';
  if (from.protocol === 'https:' && next.protocol === 'http:')
    return 'it redirects from https to http, which is not followed';
  return next;
}

/**
 * An http(s) URL as it may be shown in errors, logs and the audit trail: origin and path. User and password are refused in
 * configured URLs; a query may hold a key all the same, and the path that of a registry that is read by one.
 */
export function withoutQuery(url: string | URL): string {
  const { origin, pathname } = new URL(url);
  return `${origin}${pathWithoutKeys(pathname)}`;
}

const MIB = 1024 * 1024;
/** How much of a body that is not needed is read all the same, to keep its connection open. */
const MAX_DISCARDED_BYTES = 64 * 1024;

/**
 * There is no usable answer. The message is a sentence for the operator that begins with the URL; it holds no query, no
 * credentials, and nothing of a body.
 */
export class OutboundError extends Error {
  override readonly name = 'OutboundError';
  /** Status of the answer that was refused for its status; null for any other reason. */
  readonly status: number | null;
  /** Did the other side answer, only not with anything that is of use? */
  readonly answered: boolean;

  constructor(url: string, reason: string, details: { status?: number; cause?: unknown } = {}) {
    super(`${withoutQuery(url)}: ${reason}`, { cause: details.cause });
    this.status = details.status ?? null;
    this.answered = details.cause === undefined;
  }
}

export interface OutboundRequest {
  readonly headers?: Readonly<Record<string, string>>;
  /** Value of the Authorization header. It is sent to the origin of the URL only, wherever that redirects to. */
  readonly authorization?: string;
  /** From name resolution to the last byte. */
  readonly timeoutMs: number;
  /** Of the body. */
  readonly maxBytes: number;
  /** Told of each part of a body as it arrives, in bytes; what it throws ends the request. */
  readonly onBytes?: (bytes: number) => void;
  /** May the request go to private, loopback and link-local addresses? */
  readonly allowPrivate: boolean;
  /** Ends the request early; what it rejects with then is not an OutboundError. */
  readonly signal?: AbortSignal;
}

export interface GetRequest extends OutboundRequest {
  readonly redirects: RedirectPolicy;
}

export interface OutboundResponse {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  /** Empty unless the status is 200. */
  readonly bytes: Buffer;
  /** SHA-256 of the bytes; empty unless the status is 200. */
  readonly digest: Buffer;
}

/**
 * Requests to other servers, within limits of time, size and redirects, and to public addresses only unless a request
 * allows private ones: those who may name a URL could read internal services otherwise.
 */
export class HttpClient {
  private readonly unrestricted: Dispatcher;
  private readonly publicOnly: Dispatcher;

  private readonly proxied = new Map<ProxyServer, Dispatcher>();

  constructor(private readonly options: ConnectionOptions) {
    this.unrestricted = createDispatcher(options, true);
    this.publicOnly = createDispatcher(options, false);
  }

  /**
   * The answer to a GET, whatever its status.
   *
   * @throws OutboundError when there is no whole answer within the limits.
   */
  async get(url: string, options: GetRequest): Promise<OutboundResponse> {
    return this.respond(url, options, (signal) => this.follow(url, options, signal));
  }

  /**
   * The JSON document at a URL.
   *
   * @throws OutboundError also for a status that is not 200 and for what is not JSON.
   */
  async getJson(url: string, options: GetRequest): Promise<unknown> {
    return parseJson(url, await this.get(url, options));
  }

  /**
   * The JSON answer to a form. Redirects are not followed: the form may hold a secret.
   *
   * @throws OutboundError also for a status that is not 200 and for what is not JSON.
   */
  async postForm(
    url: string,
    form: Readonly<Record<string, string>>,
    options: OutboundRequest,
  ): Promise<unknown> {
    const post = (signal: AbortSignal) =>
      this.send(new URL(url), options, signal, {
        method: 'POST',
        body: new URLSearchParams(form).toString(),
        headers: {
          ...authorized(options),
          'content-type': 'application/x-www-form-urlencoded',
        },
      });
    return parseJson(url, await this.respond(url, options, post));
  }

  /** Ends what is under way. */
  async close(): Promise<void> {
    const all = [this.unrestricted, this.publicOnly, ...this.proxied.values()];
    await Promise.all(all.map((dispatcher) => dispatcher.destroy()));
  }

  private async respond(
    url: string,
    { timeoutMs, maxBytes, onBytes, signal }: OutboundRequest,
    send: (signal: AbortSignal) => Promise<Dispatcher.ResponseData>,
  ): Promise<OutboundResponse> {
    const timeout = AbortSignal.timeout(timeoutMs);
    try {
      const { statusCode, headers, body } = await send(signal ? AbortSignal.any([signal, timeout]) : timeout);
      if (statusCode === 200)
        return { status: statusCode, headers, ...(await readAll(url, body, maxBytes, onBytes)) };
      await discard(body);
      return { status: statusCode, headers, bytes: Buffer.alloc(0), digest: Buffer.alloc(0) };
    } catch (error) {
      if (signal?.aborted || error instanceof OutboundError) throw error;
      const reason = timeout.aborted ? `no whole answer within ${timeoutMs / 1000} s` : describe(error);
      throw new OutboundError(url, reason, { cause: error });
    }
  }

  private async follow(
    url: string,
    options: GetRequest,
    signal: AbortSignal,
  ): Promise<Dispatcher.ResponseData> {
    const { limit, limitInWords } = REDIRECT_POLICIES[options.redirects];
    const { origin } = new URL(url);
    let target = new URL(url);
    for (let followed = 0; ; followed += 1) {
      const headers = target.origin === origin ? authorized(options) : { ...options.headers };
      const response = await this.send(target, options, signal, { method: 'GET', headers });
      const { location } = response.headers;
      if (!REDIRECT_STATUSES.includes(response.statusCode) || typeof location !== 'string') return response;
      await discard(response.body);
      if (followed === limit) throw new OutboundError(url, `it redirects more than ${limitInWords} times`);
      const next = redirectTarget(location, target, origin, options.redirects);
      if (typeof next === 'string') throw new OutboundError(url, next);
      target = next;
    }
  }

  private async send(
    target: URL,
    { allowPrivate }: OutboundRequest,
    signal: AbortSignal,
    options: Pick<Dispatcher.RequestOptions, 'method' | 'headers' | 'body'>,
  ): Promise<Dispatcher.ResponseData> {
    if (!allowPrivate) checkLiteralAddress(target);
    const direct = allowPrivate ? this.unrestricted : this.publicOnly;
    return request(target, { ...options, signal, dispatcher: this.throughProxy(target) ?? direct });
  }

  private throughProxy(target: URL): Dispatcher | undefined {
    const proxy = proxyFor(target, this.options.proxy ?? DIRECT);
    if (!proxy) return undefined;
    const dispatcher = this.proxied.get(proxy) ?? createProxyDispatcher(this.options, proxy);
    this.proxied.set(proxy, dispatcher);
    return dispatcher;
  }
}

function authorized({ headers, authorization }: OutboundRequest): Record<string, string> {
  return { ...headers, ...(authorization === undefined ? {} : { authorization }) };
}

// Digested as it comes: doing it at the end would block the event loop for the whole of it.
async function readAll(
  url: string,
  body: AsyncIterable<Buffer>,
  maxBytes: number,
  onBytes: OutboundRequest['onBytes'],
): Promise<Pick<OutboundResponse, 'bytes' | 'digest'>> {
  const chunks: Buffer[] = [];
  const hash = createHash('sha256');
  let length = 0;
  for await (const chunk of body) {
    length += chunk.length;
    if (length > maxBytes)
      throw new OutboundError(url, `the answer is larger than ${Math.floor(maxBytes / MIB)} MiB`);
    onBytes?.(chunk.length);
    hash.update(chunk);
    chunks.push(chunk);
  }
  return { bytes: Buffer.concat(chunks, length), digest: hash.digest() };
}

async function discard(body: Dispatcher.ResponseData['body']): Promise<void> {
  await body.dump({ limit: MAX_DISCARDED_BYTES }).catch(() => undefined);
}

function parseJson(url: string, { status, bytes }: OutboundResponse): unknown {
  if (status !== 200) throw new OutboundError(url, `it answers with status ${status}`, { status });
  try {
    return JSON.parse(new TextDecoder().decode(bytes)) as unknown;
  } catch {
    // Without the message of the parser: it quotes what it could not parse.
    throw new OutboundError(url, 'the answer is not JSON');
  }
}

function describe(error: unknown): string {
  if (!(error instanceof Error)) return 'the request failed';
  const { code } = error as NodeJS.ErrnoException;
  if (error instanceof AggregateError) return code ?? 'no connection could be made';
  return error.message === '' ? (code ?? 'the request failed') : error.message;
}

/**
 * What a `Retry-After` asks for, in milliseconds from now: RFC 9110 §10.2.3, seconds or a date. Null when there is none, or
 * none that can be read.
 */
export function retryAfterMs(header: string | string[] | undefined, now: number): number | null {
  if (typeof header !== 'string') return null;
  if (/^\d{1,9}$/.test(header)) return Number(header) * 1_000;
  const until = /^[A-Z][a-z]/.test(header) ? Date.parse(header) : NaN;
  return Number.isNaN(until) ? null : Math.max(0, until - now);
}
