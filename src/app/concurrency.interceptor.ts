import { type CallHandler, type ExecutionContext, Injectable, type NestInterceptor } from '@nestjs/common';
import { Reflector } from '@nestjs/core';
import type { Request } from 'express';
import { finalize, type Observable } from 'rxjs';
import { type AuthenticatedRequest, callerKeyOf, UNIDENTIFIED_CALLER } from '../auth/caller.js';
import { LoadsOf, MayBeLong } from '../auth/route.js';
import { PoolSemaphores } from '../database/connection-pool.js';
import { HasBody, largeBodyOf, type RequestWithBody, StreamsBody } from '../http/body.js';
import { clientIn, type RequestWithPermit } from '../http/request-context.js';
import { Permit, Semaphore } from '../limits/semaphore.js';
import { pauseIfDue } from '../limits/time-slice.js';
import { LargeBodies } from './large-bodies.js';

/** Maximum concurrent registry reads by POST. A parsed body may take up twenty times its size in memory. */
const MAX_PARSED = 32;

/**
 * Makes changes, unpaged lists and reads by POST wait for a permit, and holds it until the handler is done. Large
 * bodies are parsed and checked first, one at a time.
 */
@Injectable()
export class ConcurrencyInterceptor implements NestInterceptor {
  private readonly readsByPost = new Semaphore(MAX_PARSED);

  constructor(
    private readonly reflector: Reflector,
    private readonly semaphores: PoolSemaphores,
    private readonly largeBodies: LargeBodies,
  ) {}

  intercept(
    context: ExecutionContext,
    next: CallHandler,
  ): Observable<unknown> | Promise<Observable<unknown>> {
    const semaphore = this.semaphoreFor(context);
    return semaphore ? this.acquire(context, next, semaphore) : next.handle();
  }

  private semaphoreFor(context: ExecutionContext): Semaphore | undefined {
    const request = context.switchToHttp().getRequest<AuthenticatedRequest>();
    const route = context.getHandler();
    const isRead = request.method === 'GET' || request.method === 'HEAD';
    if (this.reflector.get(StreamsBody, route) !== undefined) return undefined;
    // Registry reads acquire a pool permit themselves.
    if (this.reflector.get(LoadsOf, route) === 'view') return isRead ? undefined : this.readsByPost;
    const mayBeLong = this.reflector.get(MayBeLong, route);
    if (mayBeLong === 'always' || (mayBeLong === 'unless paged' && !isPaged(request)))
      return this.semaphores.lists;
    return isRead ? undefined : this.semaphores.changes;
  }

  private async acquire(
    context: ExecutionContext,
    next: CallHandler,
    semaphore: Semaphore,
  ): Promise<Observable<unknown>> {
    const request = context
      .switchToHttp()
      .getRequest<AuthenticatedRequest & RequestWithBody & RequestWithPermit>();
    const client = clientIn(context);
    const key = callerKeyOf(request.caller ?? UNIDENTIFIED_CALLER, client);
    const { document, bytesOf } = this.reflector.get(HasBody, context.getHandler()) ?? {};
    const bytes = bytesOf === undefined ? largeBodyOf(request) : undefined;
    if (bytes) {
      request.body = await this.largeBodies.read(bytes, document, key, client.abortSignal());
      delete request.rawBody;
    }
    const permit = new Permit(semaphore, key, await semaphore.acquire(key, client.abortSignal()));
    request.permit = permit;
    // Otherwise all waiters that are refused without further waiting would run in one turn of the event loop.
    await pauseIfDue();
    return next.handle().pipe(finalize(() => permit.release()));
  }
}

// reference/catalog: an empty parameter counts as absent.
function isPaged({ query: { limit, cursor } }: Request): boolean {
  return Boolean(limit) || Boolean(cursor);
}
