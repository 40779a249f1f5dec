import { createHash } from 'node:crypto';
import { createParamDecorator, type ExecutionContext } from '@nestjs/common';
import type { Request } from 'express';
import { ApiError } from './errors.js';

/** The conditional headers of a PUT, as sent. */
export interface Preconditions {
  readonly ifMatch: string | undefined;
  readonly ifNoneMatch: string | undefined;
}

/** Returns a digest of the content that a PUT may change: the first half of the resource's ETag. */
export function contentTag(content: unknown): string {
  return createHash('sha256').update(JSON.stringify(content)).digest('base64url').slice(0, 16);
}

/**
 * Checks that the resource still has the content that the caller read (RFC 9110 §13.1). Ignores the second half of an ETag,
 * which covers server-set state such as the sync status.
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

/** Injects `If-Match` and `If-None-Match` from the request. */
export const RequestPreconditions = createParamDecorator(
  (_: unknown, context: ExecutionContext): Preconditions => {
    const { headers } = context.switchToHttp().getRequest<Request>();
    return { ifMatch: headers['if-match'], ifNoneMatch: headers['if-none-match'] };
  },
);
