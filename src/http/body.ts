import { isUtf8 } from 'node:buffer';
import {
  applyDecorators,
  type CallHandler,
  createParamDecorator,
  type ExecutionContext,
  type NestInterceptor,
  UseInterceptors,
} from '@nestjs/common';
import { Reflector } from '@nestjs/core';
import express, { type Request, type Response } from 'express';
import type { Observable } from 'rxjs';
import { isDeeperThan, repeatedKey } from '../json/json-text.js';
import { isObject } from '../json/json-values.js';
import { ApiError } from './errors.js';
import { ApiErrors } from './openapi/api-answers.js';

/** Large enough for a 1 MiB document and its envelope. Also limits compressed bodies after inflating. */
const MAX_BODY_BYTES = 1_200 * 1_024;
/** Documents may be nested 100 levels deep, and start one or two levels deep in the body. */
const MAX_BODY_DEPTH = 128;

interface BodyOptions {
  /** Applies to compressed bodies both before and after inflating. */
  readonly maxBytes: number;
  /** An absent body counts as `{}`. */
  readonly isOptional: boolean;
}

/** Passes the options of `@TakesBody()` to the BodyInterceptor. */
export const HasBody = Reflector.createDecorator<BodyOptions>();

interface RequestWithBody extends Request {
  rawBody?: Buffer;
}

/** Parses the body that the BodyInterceptor received. Route interceptors run after global interceptors. */
class BodyParserInterceptor implements NestInterceptor {
  constructor(private readonly isOptional: boolean) {}

  intercept(context: ExecutionContext, next: CallHandler): Observable<unknown> {
    const request = context.switchToHttp().getRequest<RequestWithBody>();
    parseBody(request);
    if (this.isOptional) request.body ??= {};
    return next.handle();
  }
}

/** Marks a route that takes a JSON body. Other routes neither inflate nor parse bodies. */
export const TakesBody = ({ maxBytes = MAX_BODY_BYTES, isOptional = false }: Partial<BodyOptions> = {}) =>
  applyDecorators(
    HasBody({ maxBytes, isOptional }),
    UseInterceptors(new BodyParserInterceptor(isOptional)),
    ApiErrors(
      'malformed_json',
      'malformed_body',
      'invalid_body',
      'body_too_large',
      'unsupported_media_type',
      'request_timeout',
    ),
  );

/** A parsed body that the route validates itself, and the original bytes, because parsing rounds long numbers. */
export class SentJson {
  constructor(
    readonly json: unknown,
    readonly raw: Buffer | undefined,
  ) {}
}

/** Injects the body as sent, for routes whose documents have no DTO. All other routes take `@Body()`, which is validated. */
export const UnvalidatedBody = createParamDecorator((_: unknown, context: ExecutionContext): SentJson => {
  const { body, rawBody } = context.switchToHttp().getRequest<RequestWithBody>();
  return new SentJson(body, rawBody);
});

const readers = new Map<string, ReturnType<typeof express.raw>>();

function readerFor({ maxBytes, mayInflate }: BodyLimits): ReturnType<typeof express.raw> {
  const key = `${maxBytes} ${mayInflate}`;
  const options = { type: () => true, limit: maxBytes, inflate: mayInflate };
  const reader = readers.get(key) ?? express.raw(options);
  readers.set(key, reader);
  return reader;
}

interface BodyLimits extends Pick<BodyOptions, 'maxBytes'> {
  readonly mayInflate: boolean;
}

/** Returns an upper bound for the body's size in memory, in bytes, based on the headers. */
export function bodyBytes({ headers }: Request, { maxBytes }: BodyLimits): number {
  const declared = Number(headers['content-length'] ?? maxBytes);
  return headers['content-encoding'] === undefined ? Math.min(declared, maxBytes) : maxBytes;
}

/**
 * Reads the request's body, if any, into `rawBody`.
 *
 * @throws ApiError 415 unless the body is JSON in UTF-8; also the errors of Express's parser: 413, 400, 415.
 */
export async function receiveBody(
  request: RequestWithBody,
  response: Response,
  limits: BodyLimits,
): Promise<void> {
  if (!hasBody(request)) return;
  // RFC 8259 §8.1: JSON must be encoded in UTF-8.
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

/** @throws ApiError 400 `malformed_json`, and 400 `invalid_body` for a body nested too deeply or with a repeated key. */
function parseBody(request: RequestWithBody): void {
  const { rawBody: bytes } = request;
  if (!bytes) return;
  if (isDeeperThan(bytes, MAX_BODY_DEPTH))
    throw new ApiError('invalid_body', `The body is nested more than ${MAX_BODY_DEPTH} levels deep`);
  request.body = parse(bytes);
  // JSON.parse uses the last value of a repeated key, but a proxy that inspected the body may have used the first.
  const repeated = repeatedKey(bytes.toString());
  if (repeated !== null)
    throw new ApiError(
      'invalid_body',
      `The body is not valid: it has the key ${repeated} twice in one object`,
    );
}

/** Frees the body's memory early: the request itself stays in memory until its response has been sent. */
export function discardBody(request: RequestWithBody): void {
  request.body = undefined;
  delete request.rawBody;
}

function parse(bytes: Buffer): unknown {
  if (!isUtf8(bytes)) throw new ApiError('malformed_json');
  try {
    const value: unknown = JSON.parse(bytes.toString());
    if (isObject(value) || Array.isArray(value)) return value;
  } catch {
    // Refused below, without the parser's message, which quotes the body.
  }
  throw new ApiError('malformed_json');
}

function charsetOf({ headers }: Request): string {
  return /;\s*charset\s*=\s*"?([^\s;"]+)/i.exec(headers['content-type'] ?? '')?.[1] ?? 'utf-8';
}

function hasBody({ headers }: Request): boolean {
  return headers['transfer-encoding'] !== undefined || Number(headers['content-length'] ?? 0) > 0;
}
