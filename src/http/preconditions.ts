import { createHash } from 'node:crypto';
import { createParamDecorator, type ExecutionContext } from '@nestjs/common';
import type { Request } from 'express';
import { ApiError } from './errors.js';

/** The conditional headers of a PUT, as sent. */
export interface Preconditions {
  readonly ifMatch: string | undefined;
  readonly ifNoneMatch: string | undefined;
}

/** A digest of the part of a resource that a PUT may change: the first half of its ETag. */
export function contentTag(content: unknown): string {
  return createHash('sha256').update(JSON.stringify(content)).digest('base64url').slice(0, 16);
}

/**
 * Checks that the resource still has the content the caller has read (RFC 9110 §13.1). The second half of an ETag covers
 * server-set state, such as a sync's, and is not compared.
 *
 * @param current the stored `contentTag`; null when nothing is stored.
 * @throws ApiError 412 `precondition_failed`.
 */
export function checkPreconditions({ ifMatch, ifNoneMatch }: Preconditions, current: string | null): void {
  const failed =
    (ifMatch !== undefined && !matches(ifMatch, current)) ||
    (ifNoneMatch !== undefined && matches(ifNoneMatch, current));
  if (failed) throw new ApiError('precondition_failed');
}

function matches(condition: string, current: string | null): boolean {
  if (current === null) return false;
  if (condition.trim() === '*') return true;
  return condition.split(',').some((tag) => /^\s*"([\w-]+)\.[\w-]+"\s*$/.exec(tag)?.[1] === current);
}

/** `If-Match` and `If-None-Match` of the request. */
export const RequestPreconditions = createParamDecorator(
  (_: unknown, context: ExecutionContext): Preconditions => {
    const { headers } = context.switchToHttp().getRequest<Request>();
    return { ifMatch: headers['if-match'], ifNoneMatch: headers['if-none-match'] };
  },
);
