import { isUtf8 } from 'node:buffer';
import { applyDecorators, createParamDecorator, type ExecutionContext } from '@nestjs/common';
import { Reflector } from '@nestjs/core';
import express, { type Request, type Response } from 'express';
import { isDeeperThan, repeatedKey } from '../json/json-text.js';
import { isObject } from '../json/json-values.js';
import { ApiError } from './errors.js';
import { ApiErrors } from './openapi/api-answers.js';

/** A document of 1 MiB, and what is around it when it is published; also of what a compressed body holds. */
const MAX_BODY_BYTES = 1_200 * 1_024;
/** Of bodies that arrive or wait for their turn, of all requests: see Quota. */
export const MAX_HELD_BYTES = 48 * 1_024 * 1_024;
/** Reads that have a body, once it is parsed: at a time. */
export const MAX_PARSED = 32;
/** Documents may be nested 100 levels deep, and stand a level or two below the top of a body. */
const MAX_BODY_DEPTH = 128;

/** What the ClaimsInterceptor reads of a route: how many bytes its body may have. */
export const HasBody = Reflector.createDecorator<number>();

/**
 * A route that takes a JSON body. On all others a body is neither inflated nor parsed.
 *
 * @param maxBytes also of what a compressed one holds.
 */
export const TakesBody = (maxBytes = MAX_BODY_BYTES) =>
  applyDecorators(
    HasBody(maxBytes),
    ApiErrors(
      'malformed_json',
      'malformed_body',
      'invalid_body',
      'body_too_large',
      'unsupported_media_type',
      'request_timeout',
    ),
  );

interface RequestWithBody extends Request {
  /** The bytes of the body, for readers who have to know how it was spelled. */
  rawBody?: Buffer;
}

/** A JSON body, parsed and as it was sent: what was parsed does not show all digits of long numbers. */
export interface SentBody {
  readonly body: unknown;
  readonly raw: Buffer | undefined;
}

/** The body of the request in both forms. */
export const SentJson = createParamDecorator((_: unknown, context: ExecutionContext): SentBody => {
  const { body, rawBody } = context.switchToHttp().getRequest<RequestWithBody>();
  return { body: body as unknown, raw: rawBody };
});

const readers = new Map<string, ReturnType<typeof express.raw>>();

function readerFor({ maxBytes, mayInflate }: BodyLimits): ReturnType<typeof express.raw> {
  const key = `${maxBytes} ${mayInflate}`;
  const options = { type: () => true, limit: maxBytes, inflate: mayInflate };
  const reader = readers.get(key) ?? express.raw(options);
  readers.set(key, reader);
  return reader;
}

export interface BodyLimits {
  readonly maxBytes: number;
  /** A thousand bytes may hold a mebibyte, which costs nothing but its sender's time to send: that is for callers who are known. */
  readonly mayInflate: boolean;
}

/** How many bytes the body of a request may take, by its headers: as many as it says, or as may be. */
export function bodyBytes({ headers }: Request, { maxBytes }: BodyLimits): number {
  const told = Number(headers['content-length'] ?? maxBytes);
  return headers['content-encoding'] === undefined ? Math.min(told, maxBytes) : maxBytes;
}

/**
 * Receives the body of a request, if it has one. Called for routes that take a body alone, and after everything else: a caller
 * without a token, or one who may not know what they named, costs nothing (contract §3: token, role, load or 404, body).
 *
 * @throws ApiError 415 for what is no JSON in UTF-8; and what Express' parser throws: 413, 400, 415.
 */
export async function receiveBody(
  request: RequestWithBody,
  response: Response,
  limits: BodyLimits,
): Promise<void> {
  if (!hasBody(request)) return;
  // RFC 8259 §8.1: JSON is UTF-8.
  if (request.is('application/json') === false || !/^utf-8$/i.test(charsetOf(request)))
    throw new ApiError('unsupported_media_type');
  await new Promise<void>((resolve, reject) => {
    readerFor(limits)(request, response, (problem?: unknown) =>
      problem === undefined ? resolve() : reject(problem as Error),
    );
  });
  const bytes: unknown = request.body;
  request.body = undefined;
  if (Buffer.isBuffer(bytes) && bytes.length > 0) request.rawBody = bytes;
}

/**
 * Parses a body that was received. Apart from that, as what is parsed may take many times as much memory: not before it is needed.
 *
 * @throws ApiError 400 `malformed_json`, and 400 `invalid_body` for one that is nested too deep to be parsed in short time.
 */
export function parseBody(request: RequestWithBody): void {
  const { rawBody: bytes } = request;
  if (!bytes) return;
  if (isDeeperThan(bytes, MAX_BODY_DEPTH))
    throw new ApiError('invalid_body', `The body is nested more than ${MAX_BODY_DEPTH} levels deep`);
  request.body = parse(bytes);
  // JSON.parse takes the last one; whoever looked at the body before may have taken the first.
  const repeated = repeatedKey(bytes.toString());
  if (repeated !== null)
    throw new ApiError(
      'invalid_body',
      `The body is not valid: it has the key ${repeated} twice in one object`,
    );
}

/** Lets go of a body: its request may be there for much longer, until its answer has been read. */
export function forgetBody(request: RequestWithBody): void {
  request.body = undefined;
  delete request.rawBody;
}

function parse(bytes: Buffer): unknown {
  if (!isUtf8(bytes)) throw new ApiError('malformed_json');
  try {
    const value: unknown = JSON.parse(bytes.toString());
    if (isObject(value) || Array.isArray(value)) return value;
  } catch {
    // Refused below: the parser quotes what it could not parse.
  }
  throw new ApiError('malformed_json');
}

function charsetOf({ headers }: Request): string {
  return /;\s*charset\s*=\s*"?([^\s;"]+)/i.exec(headers['content-type'] ?? '')?.[1] ?? 'utf-8';
}

function hasBody({ headers }: Request): boolean {
  return headers['transfer-encoding'] !== undefined || Number(headers['content-length'] ?? 0) > 0;
}
