import { createHash } from 'node:crypto';
import { type Dispatcher, request } from 'undici';
import { parseShallow, repeatedKey } from '../json/json-text.js';
import { withoutQuery } from '../validation/redaction.js';
import {
  type ConnectionOptions,
  createDispatcher,
  createProxyDispatcher,
  DIRECT,
  proxyFor,
  type ProxyServer,
} from './dispatcher.js';
import {
  checkLiteralAddress,
  isUnreachable,
  looksPrivate,
  PrivateAddressError,
  PublicAddressError,
  type AddressReach,
} from './private-address.js';

const MIB = 1024 * 1024;
/** Maximum number of bytes to read from an unneeded body so that its connection can be reused. */
const MAX_DISCARDED_BYTES = 64 * 1024;
/** Maximum nesting depth of a JSON response. */
const MAX_DEPTH = 128;
const REDIRECT_STATUSES = [301, 302, 303, 307, 308];

/** Which redirects to follow, and how many in a row. No policy follows a redirect from https to http. */
const REDIRECT_POLICIES = {
  /** Used for responses that are trusted because of their origin. */
  'same-origin': { limit: 3, limitInWords: 'three' },
  'any-origin': { limit: 5, limitInWords: 'five' },
} as const;

type RedirectPolicy = keyof typeof REDIRECT_POLICIES;

/**
 * Thrown when a request yields no usable response. The message is for the operator and starts with the URL. It does not
 * contain the query, credentials or any part of the body.
 */
export class OutboundError extends Error {
  override readonly name = 'OutboundError';
  /** The unexpected status; null when the request failed for another reason. */
  readonly status: number | null;
  /** Whether the server responded at all. */
  readonly answered: boolean;
  /** The URL without its query. */
  readonly address: string;
  /** Whether no connection was made: unknown name, private address or refused connection. */
  readonly isUnreachable: boolean;

  constructor(url: string, reason: string, details: { status?: number; cause?: unknown } = {}) {
    super(`${withoutQuery(url)}: ${reason}`, { cause: details.cause });
    this.status = details.status ?? null;
    this.answered = details.cause === undefined;
    this.address = withoutQuery(url);
    this.isUnreachable = isUnreachable(details.cause);
  }
}

const MAX_REASON = 200;

/** Returns the reason for a failed request, without its URL, which may be secret. */
export function withoutAddress(error: unknown): string {
  if (!(error instanceof OutboundError)) return 'the request failed';
  return error.message.replace(`${error.address}: `, '').slice(0, MAX_REASON);
}

export interface OutboundRequest {
  readonly headers?: Readonly<Record<string, string>>;
  /** Value of the Authorization header, which is never sent to another origin after a redirect. */
  readonly authorization?: string;
  /** Time from name resolution to the last byte of the response. */
  readonly timeoutMs: number;
  /** Maximum size of the body. */
  readonly maxBytes: number;
  /** Called with `Content-Length`, if present and within `maxBytes`, before the body is read; throwing aborts the request. */
  readonly onLength?: (bytes: number) => void;
  /** Called with the size of each chunk of the body; throwing aborts the request. */
  readonly onBytes?: (bytes: number) => void;
  /** Receives the body of a 200 in chunks, instead of the response; the next chunk waits for it. */
  readonly save?: (chunk: Buffer) => Promise<void>;
  /**
   * Whether the request may go to private, loopback and link-local addresses. A redirect to another origin may only do
   * so if a private address sent it.
   */
  readonly allowPrivate: boolean;
  /** Aborts the request, which then rejects with the signal's reason. */
  readonly signal?: AbortSignal;
}

export interface GetRequest extends OutboundRequest {
  readonly redirects: RedirectPolicy;
  /** Returns the reason not to follow a redirect to this URL; undefined to follow it, if the policy does. */
  readonly refuseRedirect?: (target: URL) => string | undefined;
}

export interface OutboundResponse {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  /** Empty unless the status is 200. */
  readonly bytes: Buffer;
  /** SHA-256 of the bytes; empty unless the status is 200. */
  readonly digest: Buffer;
  /** Whether URLs in the response may be at a private address. */
  readonly mayNamePrivate: boolean;
}

/** A response before its body is read, with the addresses to which its URLs may lead. */
type Answer = Dispatcher.ResponseData & { readonly reach?: AddressReach };

/**
 * HTTP client for requests to other servers, with limits on time, size and redirects. Connects to public addresses
 * only, unless a request allows private ones: otherwise users who can configure a URL could read internal services.
 */
export class HttpClient {
  private readonly direct: Readonly<Record<AddressReach, Dispatcher>>;
  private readonly proxied = new Map<ProxyServer, Dispatcher>();

  constructor(private readonly options: ConnectionOptions) {
    this.direct = {
      any: createDispatcher(options, 'any'),
      public: createDispatcher(options, 'public'),
      private: createDispatcher(options, 'private'),
    };
  }

  /**
   * Sends a GET request and returns the response with any status.
   *
   * @throws OutboundError when no complete response arrives within the limits.
   */
  async get(url: string, options: GetRequest): Promise<OutboundResponse> {
    return this.respond(url, options, (signal) => this.follow(url, options, signal));
  }

  /**
   * Fetches a JSON document.
   *
   * @throws OutboundError even for invalid JSON, or any status except 200.
   */
  async getJson(url: string, options: GetRequest): Promise<unknown> {
    return parseJson(url, await this.get(url, options));
  }

  /**
   * Posts a form and returns the JSON response. Redirects are not followed: the form may contain a secret.
   *
   * @throws OutboundError even for invalid JSON, or any status except 200.
   */
  async postForm(
    url: string,
    form: Readonly<Record<string, string>>,
    options: OutboundRequest,
  ): Promise<unknown> {
    const headers = { ...options.headers, 'content-type': 'application/x-www-form-urlencoded' };
    return this.postJson(url, new URLSearchParams(form).toString(), { ...options, headers });
  }

  /**
   * Posts JSON and returns the JSON response. Redirects are not followed.
   *
   * @throws OutboundError even for invalid JSON, or any status except 200.
   */
  async postJson(url: string, body: string, options: OutboundRequest): Promise<unknown> {
    const response = await this.respond(url, options, (signal) => this.posted(url, body, options, signal));
    return parseJson(url, response);
  }

  /**
   * Posts a body and returns the status and headers of the response, whose body is discarded. Redirects are not followed.
   *
   * @throws OutboundError when no response begins within the limits.
   */
  async post(
    url: string,
    body: string,
    options: OutboundRequest,
  ): Promise<Pick<OutboundResponse, 'status' | 'headers'>> {
    return this.respond(url, options, (signal) => this.posted(url, body, options, signal), false);
  }

  private posted(url: string, body: string, options: OutboundRequest, signal: AbortSignal): Promise<Answer> {
    const reach = options.allowPrivate ? 'any' : 'public';
    return this.send(new URL(url), reach, signal, { method: 'POST', body, headers: authorized(options) });
  }

  /** Aborts all requests in progress. */
  async close(): Promise<void> {
    const all = [...Object.values(this.direct), ...this.proxied.values()];
    await Promise.all(all.map((dispatcher) => dispatcher.destroy()));
  }

  private async respond(
    url: string,
    options: OutboundRequest,
    send: (signal: AbortSignal) => Promise<Answer>,
    readsBody = true,
  ): Promise<OutboundResponse> {
    const { timeoutMs, maxBytes, onLength, signal } = options;
    const timeout = AbortSignal.timeout(timeoutMs);
    try {
      const { statusCode, headers, body, reach } = await send(
        signal ? AbortSignal.any([signal, timeout]) : timeout,
      );
      const head = { status: statusCode, headers, mayNamePrivate: reach === 'any' };
      if (statusCode === 200 && readsBody) {
        const length = Number(headers['content-length']);
        if (length <= maxBytes) onLength?.(length);
        return { ...head, ...(await readAll(url, body, options)) };
      }
      await discard(body);
      return { ...head, bytes: Buffer.alloc(0), digest: Buffer.alloc(0) };
    } catch (error) {
      if (signal?.aborted || error instanceof OutboundError) throw error;
      const reason = timeout.aborted ? `no complete response within ${timeoutMs / 1000} s` : describe(error);
      throw new OutboundError(url, reason, { cause: error });
    }
  }

  private async follow(url: string, options: GetRequest, signal: AbortSignal): Promise<Answer> {
    const { limit, limitInWords } = REDIRECT_POLICIES[options.redirects];
    const first = new URL(url);
    let target = first;
    const { response: answer, reach } = await this.first(target, options, signal);
    let response = answer;
    for (let followed = 0; ; followed += 1) {
      const { location } = response.headers;
      if (!REDIRECT_STATUSES.includes(response.statusCode) || typeof location !== 'string')
        return Object.assign(response, { reach });
      await discard(response.body);
      if (followed === limit) throw new OutboundError(url, `it redirects more than ${limitInWords} times`);
      const next = redirectTarget(location, target, first.origin, options.redirects);
      if (typeof next === 'string') throw new OutboundError(url, next);
      const refusal = options.refuseRedirect?.(next);
      if (refusal !== undefined) throw new OutboundError(url, refusal);
      target = next;
      const headers = target.origin === first.origin ? authorized(options) : { ...options.headers };
      response = await this.send(target, reach, signal, { method: 'GET', headers }).catch(
        (error: unknown) => {
          if (!(error instanceof PrivateAddressError)) throw error;
          throw new OutboundError(url, `it redirects, and ${error.message.slice(0, MAX_REASON)}`, {
            cause: error,
          });
        },
      );
    }
  }

  /**
   * Sends the first request, and returns the response with the kind of addresses to which redirects may lead: after a
   * public address, only public ones. The kind of the responding address is certain, because each attempt connects to
   * addresses of one kind only.
   */
  private async first(
    target: URL,
    options: GetRequest,
    signal: AbortSignal,
  ): Promise<{ response: Dispatcher.ResponseData; reach: AddressReach }> {
    const send = (reach: AddressReach) =>
      this.send(target, reach, signal, { method: 'GET', headers: authorized(options) });
    const isPrivate = looksPrivate(target);
    // Requests that stay at their origin reach the host that the caller specified; a proxy resolves names itself.
    if (!options.allowPrivate || options.redirects === 'same-origin' || this.throughProxy(target)) {
      const reach =
        options.allowPrivate && (options.redirects === 'same-origin' || isPrivate) ? 'any' : 'public';
      return { response: await send(reach), reach };
    }
    const kinds = isPrivate ? (['private', 'public'] as const) : (['public', 'private'] as const);
    const attempt = async (kind: 'public' | 'private') => ({
      response: await send(kind),
      reach: kind === 'private' ? ('any' as const) : kind,
    });
    return attempt(kinds[0]).catch((error: unknown) => {
      if (error instanceof PrivateAddressError || error instanceof PublicAddressError)
        return attempt(kinds[1]);
      throw error;
    });
  }

  private async send(
    target: URL,
    reach: AddressReach,
    signal: AbortSignal,
    options: Pick<Dispatcher.RequestOptions, 'method' | 'headers' | 'body'>,
  ): Promise<Dispatcher.ResponseData> {
    if (reach === 'public') checkLiteralAddress(target);
    return request(target, {
      ...options,
      signal,
      dispatcher: this.throughProxy(target) ?? this.direct[reach],
    });
  }

  private throughProxy(target: URL): Dispatcher | undefined {
    const proxy = proxyFor(target, this.options.proxy ?? DIRECT);
    if (!proxy) return undefined;
    const dispatcher = this.proxied.get(proxy) ?? createProxyDispatcher(this.options, proxy);
    this.proxied.set(proxy, dispatcher);
    return dispatcher;
  }
}

/**
 * Returns the target URL of a redirect, or the reason not to follow it.
 *
 * @param origin Origin of the first URL.
 */
function redirectTarget(location: string, from: URL, origin: string, policy: RedirectPolicy): URL | string {
  const next = URL.canParse(location, from.href) ? new URL(location, from) : null;
  if (!next || !['http:', 'https:'].includes(next.protocol))
    return 'it redirects to something other than an http(s) URL';
  if (policy === 'same-origin' && next.origin !== origin)
    return 'it redirects to another origin, which is not allowed';
  if (from.protocol === 'https:' && next.protocol === 'http:')
    return 'it redirects from https to http, which is not allowed';
  return next;
}

function authorized({ headers, authorization }: OutboundRequest): Record<string, string> {
  return { ...headers, ...(authorization === undefined ? {} : { authorization }) };
}

// Hashes the body chunk by chunk, because hashing a large body in one piece would block the event loop.
async function readAll(
  url: string,
  body: AsyncIterable<Buffer>,
  { maxBytes, onBytes, save }: OutboundRequest,
): Promise<Pick<OutboundResponse, 'bytes' | 'digest'>> {
  const chunks: Buffer[] = [];
  const hash = createHash('sha256');
  let length = 0;
  for await (const chunk of body) {
    length += chunk.length;
    if (length > maxBytes)
      throw new OutboundError(url, `the response is larger than ${sizeInWords(maxBytes)}`);
    onBytes?.(chunk.length);
    hash.update(chunk);
    if (save) await save(chunk);
    else chunks.push(chunk);
  }
  return { bytes: Buffer.concat(chunks), digest: hash.digest() };
}

function sizeInWords(bytes: number): string {
  return bytes < MIB ? `${Math.floor(bytes / 1024)} KiB` : `${Math.floor(bytes / MIB)} MiB`;
}

async function discard(body: Dispatcher.ResponseData['body']): Promise<void> {
  await body.dump({ limit: MAX_DISCARDED_BYTES }).catch(() => undefined);
}

function parseJson(url: string, { status, bytes }: OutboundResponse): unknown {
  if (status !== 200) throw new OutboundError(url, `it responded with status ${status}`, { status });
  const json = jsonIn(bytes);
  if (json === undefined) throw new OutboundError(url, 'the response is not JSON');
  // Parsers differ in which value they use, and the response may decide who somebody is.
  if (repeatedKey(bytes.toString(), 1) !== null)
    throw new OutboundError(url, 'the response has a name twice at its top level');
  return json;
}

/** Returns the JSON value of a response; undefined if it is invalid, or nested too deeply to be parsed quickly. */
export function jsonIn(bytes: Uint8Array): unknown {
  return parseShallow(bytes, MAX_DEPTH);
}

function describe(error: unknown): string {
  if (!(error instanceof Error)) return 'the request failed';
  const { code } = error as NodeJS.ErrnoException;
  if (error instanceof AggregateError) return code ?? 'could not connect';
  // Its message lists the names in the certificate, which the server chooses.
  if (code === 'ERR_TLS_CERT_ALTNAME_INVALID') return 'its TLS certificate is for another name';
  return error.message === '' ? (code ?? 'the request failed') : error.message;
}

/**
 * Parses `Retry-After` (RFC 9110 §10.2.3: seconds or a date) into milliseconds from now; null when absent or
 * malformed.
 */
export function retryAfterMs(header: string | string[] | undefined, now: number): number | null {
  if (typeof header !== 'string') return null;
  if (/^\d{1,9}$/.test(header)) return Number(header) * 1_000;
  const until = /^[A-Z][a-z]/.test(header) ? Date.parse(header) : NaN;
  return Number.isNaN(until) ? null : Math.max(0, until - now);
}
