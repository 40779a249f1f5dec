import { hash } from 'node:crypto';
import { IncomingMessage, type ServerOptions, ServerResponse } from 'node:http';
import { promisify } from 'node:util';
import { brotliCompress, constants, gzip } from 'node:zlib';
import type { Express, Response } from 'express';

/** A JSON answer that exists as text: documents are stored as text and never parsed on the way out. */
export class JsonText {
  /**
   * @param contentTag the tag of the part of the answer that a PUT may change, if there is one.
   */
  constructor(
    readonly text: string,
    readonly contentTag?: string,
  ) {}

  /** Strong (RFC 9110 §8.8.3): equal for equal bytes and for no others. */
  get etag(): string {
    const digest = digestOf(this.text);
    return this.contentTag === undefined ? `"${digest}"` : `"${this.contentTag}.${digest}"`;
  }
}

/** The media type of JSON, one value on each line. */
export const LINES_TYPE = 'application/x-ndjson';

/** An answer of JSON values, one on each line, that is made while it is sent. */
export class JsonLines {
  /**
   * @param chunks of whole lines; the next is asked for when the client has taken those before.
   * @param gone aborts when the client has gone away.
   */
  constructor(
    readonly chunks: AsyncGenerator<string>,
    readonly gone: AbortSignal,
  ) {}
}

export const CODINGS = ['br', 'gzip'] as const;
export type Coding = (typeof CODINGS)[number];

/** Below this compression saves less than its headers cost; above, it would keep a thread busy for too long. */
const MIN_COMPRESSIBLE_BYTES = 1_000;
const MAX_COMPRESSIBLE_BYTES = 4 * 1024 * 1024;
// A page is compressed once and sent many times, but one request waits for the first time: a few milliseconds.
const BROTLI_QUALITY = 5;

/** A JSON answer that is sent again and again: its bytes, their tag, and each compressed encoding from its first use on. */
export class CachedJson {
  readonly bytes: Buffer;
  private readonly digest: string;
  private readonly encodings = new Map<Coding, Promise<Buffer>>();
  /** Bytes of all encodings there are. */
  size: number;

  /**
   * @param parts of its text.
   * @param headers to be sent along.
   * @param onGrowth is called when another encoding has been added to `size`.
   */
  constructor(
    parts: readonly string[],
    readonly headers: Readonly<Record<string, string>> = {},
    private readonly onGrowth: () => void = () => undefined,
  ) {
    this.bytes = bytesOf(parts);
    this.digest = digestOf(this.bytes);
    this.size = this.bytes.length;
  }

  get isCompressible(): boolean {
    const { length } = this.bytes;
    return length >= MIN_COMPRESSIBLE_BYTES && length <= MAX_COMPRESSIBLE_BYTES;
  }

  /** Strong, so each encoding has a tag of its own. */
  etag(coding: Coding | null): string {
    return coding === null ? `"${this.digest}"` : `"${this.digest}.${coding}"`;
  }

  /** The bytes in this coding, made at most once and off the event loop. */
  compressed(coding: Coding): Promise<Buffer> {
    const known = this.encodings.get(coding);
    if (known) return known;
    const made = COMPRESS[coding](this.bytes).then((encoded) => {
      this.size += encoded.length;
      this.onGrowth();
      return encoded;
    });
    this.encodings.set(coding, made);
    return made;
  }
}

const COMPRESS: Record<Coding, (bytes: Buffer) => Promise<Buffer>> = {
  br: (bytes) =>
    promisify(brotliCompress)(bytes, {
      params: {
        [constants.BROTLI_PARAM_MODE]: constants.BROTLI_MODE_TEXT,
        [constants.BROTLI_PARAM_QUALITY]: BROTLI_QUALITY,
        [constants.BROTLI_PARAM_SIZE_HINT]: bytes.length,
      },
    }),
  gzip: (bytes) => promisify(gzip)(bytes),
};

function bytesOf(parts: readonly string[]): Buffer {
  const bytes = Buffer.allocUnsafeSlow(parts.reduce((sum, part) => sum + Buffer.byteLength(part), 0));
  let end = 0;
  for (const part of parts) end += bytes.write(part, end);
  return bytes;
}

function digestOf(content: string | Buffer): string {
  return hash('sha256', content, 'base64url').slice(0, 27);
}

/** What is answered depends on the caller, and may change at any time: it is asked for each time (contract §6). */
export const CACHE_CONTROL = 'private, no-cache';

/** The headers of an answer (contract §6). `vary` has all that the CORS middleware may have set. */
export function setHeaders(response: Response, vary: string, etag: string): void {
  response.setHeader('Vary', vary);
  response.setHeader('Cache-Control', CACHE_CONTROL);
  response.setHeader('ETag', etag);
  response.setHeader('Content-Type', 'application/json; charset=utf-8');
}

/**
 * Has the client got this answer (RFC 9110 §13.1.2)? Whatever `Cache-Control` the request carries (contract §6): clients built
 * on `fetch()` send `no-cache` beside their tag, which Express takes for a wish to be sent everything.
 */
export function isKnown({ req, statusCode }: Response, etag: string): boolean {
  const condition = req.headers['if-none-match'];
  if (condition === undefined || statusCode !== 200 || !['GET', 'HEAD'].includes(req.method)) return false;
  return condition.trim() === '*' || condition.split(',').some((tag) => opaque(tag) === opaque(etag));
}

// Weak comparison, RFC 9110 §8.8.3.2.
function opaque(etag: string): string {
  return etag.trim().replace(/^W\//, '');
}

/** 304, which has no body. */
export function sendNotModified(response: Response): void {
  response.removeHeader('Content-Type');
  response.statusCode = 304;
  response.end();
}

/**
 * What a server needs to make the requests and responses of an application as Express wants them: with its prototypes. Those that
 * Node makes are given these by Express, one after the other, and V8 treats an object whose prototype has been changed as a
 * dictionary: that took a third of the processor's time, and most of the garbage collector's.
 */
export function madeForExpress(app: Express): Pick<ServerOptions, 'IncomingMessage' | 'ServerResponse'> {
  class ExpressRequest extends IncomingMessage {}
  class ExpressResponse<Request extends IncomingMessage> extends ServerResponse<Request> {}
  Object.setPrototypeOf(ExpressRequest.prototype, app.request);
  Object.setPrototypeOf(ExpressResponse.prototype, app.response);
  // Express changes no prototype that is the right one already.
  Object.assign(app, { request: ExpressRequest.prototype, response: ExpressResponse.prototype });
  return { IncomingMessage: ExpressRequest, ServerResponse: ExpressResponse };
}
