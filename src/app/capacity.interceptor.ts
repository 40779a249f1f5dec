import { promisify } from 'node:util';
import { type CallHandler, type ExecutionContext, Injectable, type NestInterceptor } from '@nestjs/common';
import { Reflector } from '@nestjs/core';
import express, { type Request, type Response } from 'express';
import { finalize, type Observable } from 'rxjs';
import { type AuthenticatedRequest, callerKeyOf, UNIDENTIFIED_CALLER } from '../auth/caller.js';
import { LoadsOf, MayBeLong } from '../auth/route.js';
import { PoolSemaphores } from '../database/connection-pool.js';
import { type BodyOptions, HasBody, type RequestWithBody, StreamsBody } from '../http/body.js';
import { ApiError } from '../http/errors.js';
import { parseBody } from '../http/json-body.js';
import { clientIn, type RequestWithPermit } from '../http/request-context.js';
import { Quota } from '../limits/quota.js';
import { Permit, Semaphore } from '../limits/semaphore.js';
import { pauseIfDue } from '../limits/time-slice.js';
import { LargeBodies } from './large-bodies.js';

/** Maximum total size of request bodies in memory, in bytes; shared fairly among callers. */
const MAX_HELD_BYTES = 48 * 1_024 * 1_024;
/** Larger bodies are parsed in a worker thread. */
const LARGE_BODY_BYTES = 64 * 1_024;
/** Maximum concurrent registry reads by POST. A parsed body may take up twenty times its size in memory. */
const MAX_PARSED = 32;

type BusyRequest = AuthenticatedRequest & RequestWithBody & RequestWithPermit;

/**
 * Receives the body of a request within a memory budget, waits for the permit that changes, unpaged lists and reads by
 * POST need, and parses the body. Holds the memory and the permit until the handler is done. Runs after the token, role
 * and 404 checks (reference/errors).
 */
@Injectable()
export class CapacityInterceptor implements NestInterceptor {
  private readonly budget = new Quota({ total: MAX_HELD_BYTES, reserve: true });
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
    const body = this.reflector.get(HasBody, context.getHandler());
    const semaphore = this.semaphoreFor(context);
    return body || semaphore ? this.acquire(context, next, body, semaphore) : next.handle();
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
    body: BodyOptions | undefined,
    semaphore: Semaphore | undefined,
  ): Promise<Observable<unknown>> {
    const http = context.switchToHttp();
    const request = http.getRequest<BusyRequest>();
    const client = clientIn(context);
    const key = callerKeyOf(request.caller ?? UNIDENTIFIED_CALLER, client);
    const bytes = body ? maxBytesOf(request, body) : 0;
    if (body && !this.budget.tryAcquire(key, bytes)) throw new ApiError('overloaded');
    // When the handler is done, not when the response has been sent: a slow reader must not hold anything.
    const release = () => {
      request.permit?.release();
      if (!body) return;
      request.body = undefined;
      delete request.rawBody;
      this.budget.release(key, bytes);
    };
    try {
      if (body) await receiveBody(request, http.getResponse<Response>(), body);
      const json = body?.bytesOf === undefined ? request.rawBody : undefined;
      const isLarge = json !== undefined && json.length > LARGE_BODY_BYTES;
      // Parsing and checking a large body here would delay other requests.
      if (isLarge) {
        request.body = await this.largeBodies.read(json, body?.document, key, client.abortSignal());
        delete request.rawBody;
      }
      if (semaphore) {
        const giveBack = await semaphore.acquire(key, client.abortSignal());
        request.permit = new Permit(semaphore, key, giveBack);
        // Otherwise all waiters that are refused without further waiting would run in one turn of the event loop.
        await pauseIfDue();
      }
      // Parsing needs far more memory than receiving, so it waits for the permit.
      if (json && !isLarge) request.body = parseBody(json);
      if (body?.isOptional) request.body ??= {};
    } catch (error) {
      release();
      throw error;
    }
    return next.handle().pipe(finalize(release));
  }
}

// reference/catalog: an empty parameter counts as absent.
function isPaged({ query: { limit, cursor } }: Request): boolean {
  return Boolean(limit) || Boolean(cursor);
}

/** Returns an upper bound for the body's size in memory, in bytes, based on the headers. */
function maxBytesOf({ headers }: Request, { maxBytes }: BodyOptions): number {
  const declared = Number(headers['content-length'] ?? maxBytes);
  return headers['content-encoding'] === undefined ? Math.min(declared, maxBytes) : maxBytes;
}

/**
 * Reads the request's body, if any, into `rawBody`.
 *
 * @throws ApiError 415 unless the body is JSON in UTF-8, or of the type `bytesOf`; also the errors of Express's parser: 413, 400, 415.
 */
async function receiveBody(
  request: BusyRequest,
  response: Response,
  { bytesOf, maxBytes: limit }: BodyOptions,
): Promise<void> {
  if (!hasBody(request)) return;
  // RFC 8259 §8.1: JSON must be encoded in UTF-8.
  const isAccepted =
    bytesOf === undefined
      ? request.is('application/json') !== false && /^utf-8$/i.test(charsetOf(request))
      : request.is(bytesOf) !== false;
  if (!isAccepted) throw new ApiError('unsupported_media_type');
  // A small compressed body can inflate to a mebibyte, so public routes do not inflate bodies.
  const inflate = request.caller !== undefined;
  await promisify(express.raw({ type: () => true, limit, inflate }))(request, response);
  const bytes: unknown = request.body;
  request.body = undefined;
  if (Buffer.isBuffer(bytes) && bytes.length > 0) request.rawBody = bytes;
}

function charsetOf({ headers }: Request): string {
  return /;\s*charset\s*=\s*"?([^\s;"]+)/i.exec(headers['content-type'] ?? '')?.[1] ?? 'utf-8';
}

function hasBody({ headers }: Request): boolean {
  return headers['transfer-encoding'] !== undefined || Number(headers['content-length'] ?? 0) > 0;
}
