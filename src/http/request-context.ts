import { randomUUID } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import { createParamDecorator, type ExecutionContext } from '@nestjs/common';
import type { Request } from 'express';
import { addressOf } from './client-address.js';

/** By what a request is found again in the log and in the audit trail. */
export interface RequestContext {
  readonly requestId: string;
  /** Of the trace that the request is part of, where there is one. */
  readonly traceId?: string;
  /** The address at the other end of the connection. */
  readonly sourceIp: string | null;
}

export function requestContextOf(request: Request): RequestContext {
  const { id, traceId } = request;
  return {
    requestId: String(id),
    ...(traceId === undefined ? {} : { traceId }),
    sourceIp: addressOf(request),
  };
}

/** The context of the request that is handled. */
export const CurrentRequest = createParamDecorator((_: unknown, context: ExecutionContext) =>
  requestContextOf(context.switchToHttp().getRequest<Request>()),
);

declare module 'node:http' {
  interface IncomingMessage {
    /** In the log, in errors and in `X-Request-Id`. */
    id: string;
  }
}

/** An id from a proxy in front is kept when it looks like this; otherwise the request gets one of ours. */
const PLAIN_ID = /^[A-Za-z0-9_-]{8,64}$/;

/** The id by which a request is found again: that of its `X-Request-Id`, if it may be kept, or a new one. */
export function requestIdFor({ headers }: IncomingMessage): string {
  const sent = headers['x-request-id'];
  return typeof sent === 'string' && PLAIN_ID.test(sent) ? sent : randomUUID();
}
