import { type CallHandler, type ExecutionContext, Injectable, type NestInterceptor } from '@nestjs/common';
import { Reflector } from '@nestjs/core';
import type { Response } from 'express';
import { finalize, type Observable } from 'rxjs';
import { type AuthenticatedRequest, callerKeyOf, UNIDENTIFIED_CALLER } from '../auth/caller.js';
import { bodyBytes, type BodyOptions, discardBody, HasBody, receiveBody } from '../http/body.js';
import { ApiError } from '../http/errors.js';
import { clientIn } from '../http/request-context.js';
import { Quota } from '../limits/quota.js';

/** Maximum total size of request bodies in memory, in bytes; shared fairly among callers. */
const MAX_HELD_BYTES = 48 * 1_024 * 1_024;

/**
 * Receives the body on routes that take one, within a memory budget, and frees it when the handler is done. Runs after
 * the token, role and 404 checks (reference/errors). Parsing needs far more memory, so it waits for a permit.
 */
@Injectable()
export class BodyInterceptor implements NestInterceptor {
  private readonly budget = new Quota({ total: MAX_HELD_BYTES, reserve: true });

  constructor(private readonly reflector: Reflector) {}

  intercept(
    context: ExecutionContext,
    next: CallHandler,
  ): Observable<unknown> | Promise<Observable<unknown>> {
    const options = this.reflector.get(HasBody, context.getHandler());
    return options ? this.receive(context, next, options) : next.handle();
  }

  private async receive(
    context: ExecutionContext,
    next: CallHandler,
    { maxBytes, bytesOf }: Pick<BodyOptions, 'maxBytes' | 'bytesOf'>,
  ): Promise<Observable<unknown>> {
    const http = context.switchToHttp();
    const request = http.getRequest<AuthenticatedRequest>();
    const { caller = UNIDENTIFIED_CALLER } = request;
    // A small compressed body can inflate to a mebibyte, so public routes do not inflate bodies.
    const limits = { maxBytes, bytesOf, mayInflate: request.caller !== undefined };
    const key = callerKeyOf(caller, clientIn(context));
    const bytes = bodyBytes(request, limits);
    if (!this.budget.tryAcquire(key, bytes)) throw new ApiError('overloaded');
    const release = () => {
      discardBody(request);
      this.budget.release(key, bytes);
    };
    try {
      await receiveBody(request, http.getResponse<Response>(), limits);
    } catch (error) {
      release();
      throw error;
    }
    // Releases the memory when the handler is done, not when the response has been sent: a slow reader must not hold it.
    return next.handle().pipe(finalize(release));
  }
}
