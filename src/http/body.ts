import { promisify } from 'node:util';
import {
  applyDecorators,
  type CallHandler,
  createParamDecorator,
  type ExecutionContext,
  type NestInterceptor,
  type Type,
  UseInterceptors,
} from '@nestjs/common';
import { Reflector } from '@nestjs/core';
import { ApiBody, type ApiBodyOptions, ApiConsumes } from '@nestjs/swagger';
import express, { type Request, type Response } from 'express';
import type { Observable } from 'rxjs';
import { ApiError } from './errors.js';
import { parseBody } from './json-body.js';

/** Large enough for a 1 MiB document and its envelope. Also limits compressed bodies after inflating. */
const MAX_BODY_BYTES = 1_200 * 1_024;
/** Larger bodies are parsed in a worker thread. */
const LARGE_BODY_BYTES = 64 * 1_024;

/** The part of a body that is a document: the member with the name of its type, or the whole body. */
export type DocumentIn = 'member' | 'body';

export interface BodyOptions {
  /** Applies to compressed bodies both before and after inflating. */
  readonly maxBytes: number;
  /** An absent body counts as `{}`. */
  readonly isOptional: boolean;
  /** The media type of a body that is not parsed; if absent, the body is JSON. */
  readonly bytesOf?: string | undefined;
  /** Absent if the body contains no document. */
  readonly document?: DocumentIn | undefined;
}

/** Passes the options of a body to the BodyInterceptor. */
export const HasBody = Reflector.createDecorator<BodyOptions>();

/** Marks a route whose service reads the body as a stream, and acquires a permit for its change afterwards. */
export const StreamsBody = Reflector.createDecorator();

export interface RequestWithBody extends Request {
  rawBody?: Buffer;
}

/** Parses the body that the BodyInterceptor received. Route interceptors run after global interceptors. */
class BodyParserInterceptor implements NestInterceptor {
  constructor(private readonly isOptional: boolean) {}

  intercept(context: ExecutionContext, next: CallHandler): Observable<unknown> {
    const request = context.switchToHttp().getRequest<RequestWithBody>();
    // A worker thread has parsed a large body.
    if (request.rawBody) request.body = parseBody(request.rawBody);
    if (this.isOptional) request.body ??= {};
    return next.handle();
  }
}

/** Errors of a route that takes JSON. */
export const BODY_ERRORS = [
  'malformed_json',
  'malformed_body',
  'invalid_body',
  'body_too_large',
  'unsupported_media_type',
  'request_timeout',
] as const;

interface JsonBody extends Partial<Omit<BodyOptions, 'bytesOf'>> {
  readonly type: Type;
  readonly description?: string;
  readonly examples?: Readonly<Record<string, object>>;
}

/** A route's body: JSON of a class, unparsed bytes of one media type, or a stream that the service reads. */
export type RouteBody =
  | Type
  | JsonBody
  | { readonly bytesOf: string; readonly maxBytes: number }
  | { readonly streams: readonly string[] };

/** Marks a route that takes a body. Other routes neither inflate nor parse bodies. */
export function TakesBody(body: RouteBody): MethodDecorator {
  if (typeof body === 'function') return TakesBody({ type: body });
  if ('streams' in body)
    return applyDecorators(
      StreamsBody(),
      ApiConsumes(...body.streams),
      ApiBody({ schema: { type: 'string', format: 'binary' } }),
    );
  if ('bytesOf' in body) return HasBody({ ...body, isOptional: false });
  const { maxBytes = MAX_BODY_BYTES, isOptional = false, document, ...documentation } = body;
  return applyDecorators(
    HasBody({ maxBytes, isOptional, document }),
    UseInterceptors(new BodyParserInterceptor(isOptional)),
    ApiBody({ ...documentation, required: !isOptional } as ApiBodyOptions),
  );
}

/** Injects the bytes of a body that is not parsed. */
export const SentBytes = createParamDecorator((_: unknown, context: ExecutionContext): Buffer => {
  const { rawBody } = context.switchToHttp().getRequest<RequestWithBody>();
  return rawBody ?? Buffer.alloc(0);
});

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

interface BodyLimits extends Pick<BodyOptions, 'maxBytes' | 'bytesOf'> {
  readonly mayInflate: boolean;
}

/** Returns an upper bound for the body's size in memory, in bytes, based on the headers. */
export function bodyBytes({ headers }: Request, { maxBytes }: Pick<BodyLimits, 'maxBytes'>): number {
  const declared = Number(headers['content-length'] ?? maxBytes);
  return headers['content-encoding'] === undefined ? Math.min(declared, maxBytes) : maxBytes;
}

/**
 * Reads the request's body, if any, into `rawBody`.
 *
 * @throws ApiError 415 unless the body is JSON in UTF-8, or of the type `bytesOf`; also the errors of Express's parser: 413, 400, 415.
 */
export async function receiveBody(
  request: RequestWithBody,
  response: Response,
  limits: BodyLimits,
): Promise<void> {
  if (!hasBody(request)) return;
  const { bytesOf } = limits;
  // RFC 8259 §8.1: JSON must be encoded in UTF-8.
  const isAccepted =
    bytesOf === undefined
      ? request.is('application/json') !== false && /^utf-8$/i.test(charsetOf(request))
      : request.is(bytesOf) !== false;
  if (!isAccepted) throw new ApiError('unsupported_media_type');
  const read = express.raw({ type: () => true, limit: limits.maxBytes, inflate: limits.mayInflate });
  await promisify(read)(request, response);
  const bytes: unknown = request.body;
  request.body = undefined;
  if (Buffer.isBuffer(bytes) && bytes.length > 0) request.rawBody = bytes;
}

/** Returns the received body if it is so large that parsing and checking it would delay other requests. */
export function largeBodyOf({ rawBody }: RequestWithBody): Buffer | undefined {
  return rawBody && rawBody.length > LARGE_BODY_BYTES ? rawBody : undefined;
}

/** Frees the body's memory early: the request itself stays in memory until its response has been sent. */
export function discardBody(request: RequestWithBody): void {
  request.body = undefined;
  delete request.rawBody;
}

function charsetOf({ headers }: Request): string {
  return /;\s*charset\s*=\s*"?([^\s;"]+)/i.exec(headers['content-type'] ?? '')?.[1] ?? 'utf-8';
}

function hasBody({ headers }: Request): boolean {
  return headers['transfer-encoding'] !== undefined || Number(headers['content-length'] ?? 0) > 0;
}
