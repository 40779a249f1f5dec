import { createParamDecorator, type ExecutionContext } from '@nestjs/common';
import type { Request } from 'express';
import { addressOf } from './limits/client-address.js';

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
