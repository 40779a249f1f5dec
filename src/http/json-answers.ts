import { hash } from 'node:crypto';
import { once } from 'node:events';
import { createServer, IncomingMessage, type ServerOptions, ServerResponse } from 'node:http';
import { promisify } from 'node:util';
import { brotliCompress, constants, gzip } from 'node:zlib';
import { Logger } from '@nestjs/common';
import { ExpressAdapter } from '@nestjs/platform-express';
import type { Express, Response } from 'express';
import Negotiator from 'negotiator';
import { Quota } from '../limits/quota.js';
import { remembered } from '../limits/shared-reads.js';
import { pauseIfDue } from '../limits/time-slice.js';
import { ApiError } from './errors.js';

/** A JSON response that is already text: documents are stored as text and sent without parsing. */
export class JsonText {
  /**
   * @param contentTag the digest of the content that a PUT may change, if any.
   * @param isCreated whether the request created the resource, for a PUT.
   */
  constructor(
    readonly text: string,
    readonly contentTag?: string,
    readonly isCreated = false,
  ) {}

  /** A strong ETag (RFC 9110 §8.8.3): equal only for identical bytes. */
  get etag(): string {
    const digest = digestOf(this.text);
    return this.contentTag === undefined ? `"${digest}"` : `"${this.contentTag}.${digest}"`;
  }
}

/** Media type of newline-delimited JSON. */
export const LINES_TYPE = 'application/x-ndjson';
export const CSV_TYPE = 'text/csv';

/** A streamed response of lines: JSON values or records of CSV. */
export class StreamedLines {
  /**
   * @param chunks each contains whole lines; each chunk is produced once the client has read the previous chunks.
   * @param gone aborts when the client disconnects.
   * @param callerKey identifies the caller, for the limit on streamed responses.
   */
  constructor(
    readonly type: typeof LINES_TYPE | typeof CSV_TYPE,
    readonly chunks: AsyncGenerator<string>,
    readonly gone: AbortSignal,
    readonly callerKey: string,
  ) {}
}

export class StreamedJson {
  /**
   * @param chunks UTF-8; each chunk is produced once the client has read the previous chunks.
   * @param gone aborts when the client disconnects.
   * @param callerKey identifies the caller, for the limit on streamed responses.
   * @param state changes whenever the content may have changed.
   */
  constructor(
    readonly chunks: AsyncGenerator<Buffer>,
    readonly gone: AbortSignal,
    readonly callerKey: string,
    private readonly state: string,
    readonly headers: Readonly<Record<string, string>>,
  ) {}

  /** The ETag is weak (RFC 9110 §8.8.1), because it is sent before the content is read. */
  get etag(): string {
    return `W/"${digestOf(this.state)}"`;
  }
}

const CODINGS = ['br', 'gzip'] as const;
export type Coding = (typeof CODINGS)[number];

/** Smaller responses gain nothing from compression; larger ones would keep a thread busy for too long. */
const MIN_COMPRESSIBLE_BYTES = 1_000;
const MAX_COMPRESSIBLE_BYTES = 4 * 1024 * 1024;
/** Uses half the processor time of the next level, for a tenth more bytes (docs/performance.md). Results are reused. */
const LEVEL = 4;

/** A JSON response that is sent many times, with its ETag and its compressed encodings, created on first use. */
export class CachedJson {
  readonly bytes: Buffer;
  private readonly digest: string;
  private readonly encodings = new Map<Coding, Promise<Buffer>>();
  /** Total bytes of the encodings created so far. */
  size: number;

  /**
   * @param onGrowth called when an encoding has been added to `size`.
   */
  constructor(
    parts: readonly (string | Buffer)[],
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

  /** The ETag is strong, so each encoding has its own. */
  etag(coding: Coding | null): string {
    return coding === null ? `"${this.digest}"` : `"${this.digest}.${coding}"`;
  }

  /** Returns the bytes in this coding, compressed only once, off the event loop. */
  compressed(coding: Coding): Promise<Buffer> {
    return remembered(this.encodings, coding, async () => {
      const encoded = await COMPRESS[coding](this.bytes);
      this.size += encoded.length;
      this.onGrowth();
      return encoded;
    });
  }
}

const COMPRESS: Record<Coding, (bytes: Buffer) => Promise<Buffer>> = {
  br: (bytes) =>
    promisify(brotliCompress)(bytes, {
      params: {
        [constants.BROTLI_PARAM_MODE]: constants.BROTLI_MODE_TEXT,
        [constants.BROTLI_PARAM_QUALITY]: LEVEL,
        [constants.BROTLI_PARAM_SIZE_HINT]: bytes.length,
      },
    }),
  gzip: (bytes) => promisify(gzip)(bytes, { level: LEVEL }),
};

function bytesOf(parts: readonly (string | Buffer)[]): Buffer {
  const bytes = Buffer.allocUnsafeSlow(parts.reduce((sum, part) => sum + Buffer.byteLength(part), 0));
  let end = 0;
  for (const part of parts) end += typeof part === 'string' ? bytes.write(part, end) : part.copy(bytes, end);
  return bytes;
}

function digestOf(content: string | Buffer): string {
  return hash('sha256', content, 'base64url').slice(0, 27);
}

/** Responses depend on the caller and may change at any time, so clients must revalidate (reference/catalog). */
const CACHE_CONTROL = 'private, no-cache';

/** Sets the response headers (reference/catalog). `vary` must include any fields that the CORS middleware sets. */
function setHeaders(response: Response, vary: string, etag: string): void {
  response.setHeader('Vary', vary);
  response.setHeader('Cache-Control', CACHE_CONTROL);
  response.setHeader('ETag', etag);
  response.setHeader('Content-Type', 'application/json; charset=utf-8');
}

/**
 * Returns whether `If-None-Match` contains this tag (RFC 9110 §13.1.2). Ignores the request's `Cache-Control` (reference/catalog):
 * clients built on `fetch()` send `no-cache` with their tag, and Express would then send the whole response.
 */
export function isFresh({ req, statusCode }: Response, etag: string): boolean {
  const condition = req.headers['if-none-match'];
  if (condition === undefined || statusCode !== 200 || !['GET', 'HEAD'].includes(req.method)) return false;
  return condition.trim() === '*' || condition.split(',').some((tag) => opaque(tag) === opaque(etag));
}

// Weak comparison, RFC 9110 §8.8.3.2.
function opaque(etag: string): string {
  return etag.trim().replace(/^W\//, '');
}

export function sendNotModified(response: Response): void {
  response.removeHeader('Content-Type');
  response.statusCode = 304;
  response.end();
}

/**
 * Makes Node create requests and responses with Express's prototypes. Otherwise Express would replace the prototype of each
 * object, and V8 turns such objects into slow dictionaries, which cost a third of the CPU time.
 */
export function madeForExpress(app: Express): Pick<ServerOptions, 'IncomingMessage' | 'ServerResponse'> {
  class ExpressRequest extends IncomingMessage {}
  class ExpressResponse<Request extends IncomingMessage> extends ServerResponse<Request> {}
  Object.setPrototypeOf(ExpressRequest.prototype, app.request);
  Object.setPrototypeOf(ExpressResponse.prototype, app.response);
  // Express does not reset a prototype that is already correct.
  Object.assign(app, { request: ExpressRequest.prototype, response: ExpressResponse.prototype });
  return { IncomingMessage: ExpressRequest, ServerResponse: ExpressResponse };
}

/** Nest's Express adapter, extended to send JSON unchanged if it is already text or bytes. */
export class JsonAnswersAdapter extends ExpressAdapter {
  override initHttpServer(): void {
    const app = this.getInstance<Express>();
    this.httpServer = createServer(madeForExpress(app), app);
  }

  override reply(response: Response, body: unknown, status?: number): unknown {
    if (status !== undefined) response.statusCode = status;
    if (body instanceof JsonText) return sendText(response, body);
    if (body instanceof StreamedLines) return sendLines(response, body);
    if (body instanceof StreamedJson) return sendStreamed(response, body);
    if (body instanceof CachedJson) return sendCached(response, body);
    return super.reply(response, body, status) as unknown;
  }
}

function sendText(response: Response, json: JsonText): void {
  const { etag } = json;
  setHeaders(response, 'Authorization, Origin', etag);
  if (json.isCreated) response.statusCode = 201;
  if (isFresh(response, etag)) sendNotModified(response);
  else response.send(json.text);
}

/** Responses of at least this size are large: passing one to the kernel takes milliseconds, so they go one at a time. */
export const LARGE_BYTES = 256 * 1024;

async function sendCached(response: Response, json: CachedJson): Promise<void> {
  const coding = json.isCompressible ? codingFor(response.req) : null;
  const etag = json.etag(coding);
  setHeaders(response, 'Authorization, Origin, Accept-Encoding', etag);
  for (const [name, value] of Object.entries(json.headers)) response.setHeader(name, value);
  if (isFresh(response, etag)) return sendNotModified(response);
  const bytes = coding === null ? json.bytes : await json.compressed(coding);
  if (bytes.length >= LARGE_BYTES) await pauseIfDue();
  if (coding !== null) response.setHeader('Content-Encoding', coding);
  response.setHeader('Content-Length', bytes.length);
  response.end(bytes);
}

async function sendLines(response: Response, lines: StreamedLines): Promise<void> {
  occupyStream(response, lines);
  response.vary('Authorization, Origin');
  response.setHeader('Cache-Control', CACHE_CONTROL);
  response.setHeader('Content-Type', lines.type === CSV_TYPE ? `${CSV_TYPE}; charset=utf-8` : lines.type);
  await sendChunks(response, lines);
}

async function sendStreamed(response: Response, json: StreamedJson): Promise<void> {
  if (!isFresh(response, json.etag)) occupyStream(response, json);
  setHeaders(response, 'Authorization, Origin', json.etag);
  for (const [name, value] of Object.entries(json.headers)) response.setHeader(name, value);
  if (isFresh(response, json.etag)) sendNotModified(response);
  else await sendChunks(response, json);
}

/** A stream holds a chunk of a mebibyte while its client reads slowly, and waits its turn for each chunk. */
const MAX_STREAMS = 32;
const streams = new Quota({ total: MAX_STREAMS, reserve: true });

/** @throws ApiError 503 `overloaded`. */
function occupyStream(response: Response, { callerKey }: { readonly callerKey: string }): void {
  if (response.closed) return;
  if (!streams.tryAcquire(callerKey)) throw new ApiError('overloaded');
  response.once('close', () => streams.release(callerKey));
}

/** How long a streamed response may continue before the caller is identified again. */
const IDENTIFIED_MS = 1_000;

/**
 * Sends chunks as fast as the client reads them, as long as the caller would still be accepted: a slow reader could
 * otherwise outlive their token. Once the headers are sent, an error can only cut off the response.
 */
export async function sendChunks(
  response: Response,
  { chunks, gone }: { readonly chunks: AsyncGenerator<string | Buffer>; readonly gone: AbortSignal },
): Promise<void> {
  if (response.req.method === 'HEAD') {
    response.end();
    return;
  }
  let identifiedAt = performance.now();
  try {
    for await (const chunk of chunks) {
      if (performance.now() - identifiedAt > IDENTIFIED_MS) {
        await response.req.identifyAgain?.();
        identifiedAt = performance.now();
      }
      if (!response.write(chunk)) await once(response, 'drain', { signal: gone });
    }
    response.end();
  } catch (error) {
    if (error instanceof ApiError && error.status < 500)
      new Logger('http').warn(
        { requestId: response.req.id, code: error.code },
        'A streamed list was cut off: the caller is refused now',
      );
    else if (!gone.aborted)
      new Logger('http').error({ requestId: response.req.id, err: error }, 'A streamed list was cut off');
    response.destroy();
  }
}

/** Returns the coding of a response. Our order breaks ties: browsers list gzip first without preferring it. */
export function codingFor(request: IncomingMessage): Coding | null {
  if (request.headers['accept-encoding'] === undefined) return null;
  const [accepted] = new Negotiator(request).encodings([...CODINGS], { preferred: [...CODINGS] });
  return CODINGS.find((coding) => coding === accepted) ?? null;
}
