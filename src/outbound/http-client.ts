import { createHash } from 'node:crypto';
import { Agent, type Dispatcher, request } from 'undici';
import { checkLiteralAddress, publicLookup, type ResolveAll } from './public-lookup.js';

const MAX_REDIRECTS = 5;
const MAX_CONNECTIONS = 8;

/** An upstream could not be asked; the message is a sentence for the operator and names no secret. */
export class OutboundError extends Error {
  override readonly name = 'OutboundError';
}

export interface OutboundRequest {
  readonly headers?: Readonly<Record<string, string>>;
  /** Sent as bearer token, to the origin of the URL only. */
  readonly bearer?: string;
  /** From name resolution to the last byte. */
  readonly timeoutMs: number;
  readonly maxBytes: number;
  readonly signal: AbortSignal;
}

export interface OutboundResponse {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  /** Empty unless the status is 200. */
  readonly bytes: Buffer;
  /** SHA-256 of the bytes. */
  readonly digest: Buffer;
}

/**
 * GET requests to the upstreams of sources. Those of sources that were made through the API must not reach private
 * addresses, unless the configuration allows them: whoever may create a source could read internal services otherwise.
 */
export class HttpClient {
  private readonly open: Agent;
  private readonly guarded: Agent;

  constructor(resolve?: ResolveAll) {
    const options = { connections: MAX_CONNECTIONS };
    this.open = new Agent(options);
    this.guarded = new Agent({ ...options, connect: { lookup: publicLookup(resolve) } });
  }

  /**
   * @param allowPrivate may the request go to private, loopback and link-local addresses?
   * @throws OutboundError when there is no whole answer within the limits; statuses are the caller's to judge.
   */
  async get(url: string, asked: OutboundRequest, allowPrivate: boolean): Promise<OutboundResponse> {
    const timeout = AbortSignal.timeout(asked.timeoutMs);
    try {
      const response = await this.follow(new URL(url), asked, allowPrivate, timeout);
      const { statusCode: status, headers, body } = response;
      if (status !== 200) {
        await body.dump({ limit: 64 * 1024 }).catch(() => undefined);
        return { status, headers, bytes: Buffer.alloc(0), digest: Buffer.alloc(0) };
      }
      return { status, headers, ...(await readAll(body, asked.maxBytes)) };
    } catch (error) {
      if (asked.signal.aborted) throw error;
      const reason = timeout.aborted ? `no whole answer within ${asked.timeoutMs / 1000} s` : describe(error);
      throw new OutboundError(`${shown(url)}: ${reason}`, { cause: error });
    }
  }

  async close(): Promise<void> {
    await Promise.all([this.open.destroy(), this.guarded.destroy()]);
  }

  private async follow(
    from: URL,
    { headers = {}, bearer, signal, timeoutMs }: OutboundRequest,
    allowPrivate: boolean,
    timeout: AbortSignal,
  ): Promise<Dispatcher.ResponseData> {
    let target = from;
    for (let redirects = 0; redirects <= MAX_REDIRECTS; redirects += 1) {
      if (!allowPrivate) checkLiteralAddress(target);
      const isHome = target.origin === from.origin;
      const response = await request(target, {
        dispatcher: allowPrivate ? this.open : this.guarded,
        headers: {
          ...headers,
          ...(bearer !== undefined && isHome ? { authorization: `Bearer ${bearer}` } : {}),
        },
        signal: AbortSignal.any([signal, timeout]),
        headersTimeout: timeoutMs,
        bodyTimeout: timeoutMs,
      });
      const { location } = response.headers;
      const isRedirect = [301, 302, 303, 307, 308].includes(response.statusCode);
      if (!isRedirect || typeof location !== 'string') return response;
      await response.body.dump({ limit: 64 * 1024 }).catch(() => undefined);
      const next = URL.canParse(location, target.href) ? new URL(location, target) : null;
      if (!next || !['http:', 'https:'].includes(next.protocol))
        throw new OutboundError('it redirects to something that is no web address');
      if (target.protocol === 'https:' && next.protocol === 'http:')
        throw new OutboundError('it redirects from https to http, which is not followed');
      target = next;
    }
    throw new OutboundError('it redirects more than five times');
  }
}

// Digested as it comes: doing it at the end would hold the event loop up for the whole of it.
async function readAll(
  body: AsyncIterable<Buffer>,
  maxBytes: number,
): Promise<Pick<OutboundResponse, 'bytes' | 'digest'>> {
  const chunks: Buffer[] = [];
  const hash = createHash('sha256');
  let length = 0;
  for await (const chunk of body) {
    length += chunk.length;
    if (length > maxBytes)
      throw new OutboundError(`the answer is larger than ${Math.floor(maxBytes / 1024 / 1024)} MiB`);
    hash.update(chunk);
    chunks.push(chunk);
  }
  return { bytes: Buffer.concat(chunks, length), digest: hash.digest() };
}

// User and password are refused in configured URLs; a query may hold a key all the same.
function shown(url: string): string {
  const { origin, pathname } = new URL(url);
  return `${origin}${pathname}`;
}

function describe(error: unknown): string {
  if (!(error instanceof Error)) return 'the request failed';
  const { code } = error as NodeJS.ErrnoException;
  if (error instanceof AggregateError) return code ?? 'no connection could be made';
  return error.message === '' ? (code ?? 'the request failed') : error.message;
}
