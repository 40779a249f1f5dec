import { applyDecorators, createParamDecorator, type ExecutionContext, type Type } from '@nestjs/common';
import { Reflector } from '@nestjs/core';
import { ApiBody, type ApiBodyOptions, ApiConsumes } from '@nestjs/swagger';
import type { Request } from 'express';

/** Large enough for a 1 MiB document and its envelope. Also limits compressed bodies after inflating. */
const MAX_BODY_BYTES = 1_200 * 1_024;

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

/** Passes the options of a body to the CapacityInterceptor. */
export const HasBody = Reflector.createDecorator<BodyOptions>();

/** Marks a route whose service reads the body as a stream, and acquires a permit for its change afterwards. */
export const StreamsBody = Reflector.createDecorator();

export interface RequestWithBody extends Request {
  rawBody?: Buffer;
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
