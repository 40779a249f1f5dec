import type { IncomingMessage } from 'node:http';
import { createParamDecorator, type ExecutionContext } from '@nestjs/common';
import type { Request } from 'express';
import type { Caller } from './caller.js';

export interface AuthenticatedRequest extends Request {
  caller?: Caller;
}

/**
 * The caller the AuthGuard found.
 *
 * @throws Error when there is none: that is a bug of this server and never "anonymous".
 */
export function callerOf(context: ExecutionContext): Caller {
  const { caller } = context.switchToHttp().getRequest<AuthenticatedRequest>();
  if (!caller) throw new Error('A guarded route was reached without a caller');
  return caller;
}

/** The caller of a request, for what is told of it afterwards; undefined where none was found. */
export function requestCaller(request: IncomingMessage): Caller | undefined {
  return (request as AuthenticatedRequest).caller;
}

/** The caller as an argument of a handler. */
export const CurrentCaller = createParamDecorator((_: unknown, context: ExecutionContext) =>
  callerOf(context),
);
