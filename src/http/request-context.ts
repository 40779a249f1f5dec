import { randomUUID } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import { createParamDecorator, type ExecutionContext } from '@nestjs/common';
import type { Request } from 'express';
import { addressOf } from './client-address.js';

/** Identifies a request in the log and the audit trail. */
export interface RequestContext {
  readonly requestId: string;
  /** The trace the request is part of, if any. */
  readonly traceId?: string;
  /** The peer address of the connection. */
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

/** The context of the current request. */
export const CurrentRequest = createParamDecorator((_: unknown, context: ExecutionContext) =>
  requestContextOf(context.switchToHttp().getRequest<Request>()),
);

declare module 'node:http' {
  interface IncomingMessage {
    /** Shown in the log, in errors and in `X-Request-Id`. */
    id: string;
  }
}

/** An id set by a proxy is kept if it matches. */
const PLAIN_ID = /^[A-Za-z0-9_-]{8,64}$/;

/** The id of a request: its `X-Request-Id` if that is plain, otherwise a new one. */
export function requestIdFor({ headers }: IncomingMessage): string {
  const sent = headers['x-request-id'];
  return typeof sent === 'string' && PLAIN_ID.test(sent) ? sent : randomUUID();
}
