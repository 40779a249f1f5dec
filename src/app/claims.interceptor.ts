import { type CallHandler, type ExecutionContext, Injectable, type NestInterceptor } from '@nestjs/common';
import { Reflector } from '@nestjs/core';
import type { Response } from 'express';
import { catchError, finalize, type Observable } from 'rxjs';
import { type Caller, callerOf, clientIn, UNIDENTIFIED_CALLER } from '../auth/caller.js';
import {
  IsRegistryRoute,
  type LoadedRequest,
  type LongWhen,
  MayBeLong,
  type NamedResource,
  NamedResourceOf,
  type PublisherAccess,
  PublisherAccessOf,
} from '../auth/route.js';
import { PoolSemaphores } from '../database/pool-semaphores.js';
import { type CatalogRequest, IsCatalogRead } from '../catalog/catalog-read.js';
import { EntriesService } from '../entries/entries.service.js';
import {
  bodyBytes,
  type BodyLimits,
  forgetBody,
  HasBody,
  MAX_HELD_BYTES,
  MAX_PARSED,
  parseBody,
  receiveBody,
} from '../http/body.js';
import { ApiError } from '../http/errors.js';
import { Quota } from '../limits/quota.js';
import { Semaphore } from '../limits/semaphore.js';
import { PublisherGate } from '../mcp-publisher/publisher-gate.js';
import { RegistriesService } from '../registries/registries.service.js';
import { SourcesService } from '../sources/sources.service.js';
import { type RegistryAccess, RegistryViews, type VerifiedAccess } from '../visibility/registry-views.js';

/** What a request holds that others wait for. */
class Held {
  private readonly releases: (() => void)[] = [];

  push(release: () => void): void {
    this.releases.push(release);
  }

  /** Once. */
  release(): void {
    for (const release of this.releases.splice(0)) release();
  }
}

/**
 * The last of the global steps: what may this caller see behind the path they named? It loads the registry, source or
 * entry and hands it to the handler. Only then is the body read, on routes that take one (contract §3).
 */
@Injectable()
export class ClaimsInterceptor implements NestInterceptor {
  private readonly bodies = new Quota({ total: MAX_HELD_BYTES, reserve: true });
  private readonly parsed = new Semaphore(MAX_PARSED);

  constructor(
    private readonly reflector: Reflector,
    private readonly views: RegistryViews,
    private readonly sources: SourcesService,
    private readonly registries: RegistriesService,
    private readonly entries: EntriesService,
    private readonly publishers: PublisherGate,
    private readonly semaphores: PoolSemaphores,
  ) {}

  intercept(
    context: ExecutionContext,
    next: CallHandler,
  ): Observable<unknown> | Promise<Observable<unknown>> {
    const route = [context.getHandler(), context.getClass()];
    const publishing = this.reflector.getAllAndOverride(PublisherAccessOf, route);
    if (publishing || this.reflector.getAllAndOverride(IsRegistryRoute, route) === undefined)
      return this.loadNamed(context, next, publishing);
    const { registry } = context.switchToHttp().getRequest<LoadedRequest>().params;
    const access = this.views.enterFromMemory(callerOf(context), clientIn(context), String(registry));
    // Most accesses are remembered: no promise for them.
    if (this.reflector.getAllAndOverride(IsCatalogRead, route) !== undefined)
      return access instanceof Promise
        ? access.then((entered) => this.readCatalog(context, next, entered))
        : this.readCatalog(context, next, access);
    const verified = access instanceof Promise ? access : this.views.verify(access);
    return verified.then((entered) => this.readRegistry(context, next, entered));
  }

  private readCatalog(
    context: ExecutionContext,
    next: CallHandler,
    access: RegistryAccess,
  ): Observable<unknown> {
    const request = context.switchToHttp().getRequest<CatalogRequest>();
    request.catalogAccess = access;
    request.entered = access.entered;
    if (access.isVerified) return next.handle();
    // A caller who has lost access meanwhile gets that refusal, whatever else is wrong with the request.
    return next.handle().pipe(
      catchError(async (error) => {
        await this.views.verify(access);
        throw error;
      }),
    );
  }

  private readRegistry(
    context: ExecutionContext,
    next: CallHandler,
    access: VerifiedAccess,
  ): Observable<unknown> | Promise<Observable<unknown>> {
    const request = context.switchToHttp().getRequest<LoadedRequest>();
    request.loaded = access;
    request.entered = access.entered;
    const maxBytes = this.maxBytesOf(context);
    return maxBytes === undefined ? next.handle() : this.readByPost(context, access, maxBytes, next);
  }

  private async loadNamed(
    context: ExecutionContext,
    next: CallHandler,
    publishing: PublisherAccess | undefined,
  ): Promise<Observable<unknown>> {
    const route = [context.getHandler(), context.getClass()];
    const request = context.switchToHttp().getRequest<LoadedRequest>();
    const client = clientIn(context);
    // Public routes leave nobody on the request.
    const caller = publishing === 'anybody' ? UNIDENTIFIED_CALLER : undefined;
    if (publishing) request.loaded = await this.publishers.enter(caller ? null : callerOf(context), request);
    else {
      const named = this.reflector.getAllAndOverride(NamedResourceOf, route);
      if (named) request.loaded = await this.load(callerOf(context), request, named);
    }
    const maxBytes = this.maxBytesOf(context);
    const longWhen = this.reflector.getAllAndOverride(MayBeLong, route) as LongWhen | undefined;
    const isLong = longWhen === 'always' || (longWhen === 'unless paged' && !isPaged(request));
    if (['GET', 'HEAD'].includes(request.method) && !isLong) return next.handle();
    const callerKey = client.callerKey(caller ?? callerOf(context));
    const held = new Held();
    try {
      if (maxBytes !== undefined) {
        held.push(() => forgetBody(request));
        await this.receive(context, callerKey, held, { maxBytes, mayInflate: publishing !== 'anybody' });
      }
      const semaphore = isLong ? this.semaphores.lists : this.semaphores.changes;
      held.push(await semaphore.acquire(callerKey, client.abortSignal()));
      if (maxBytes !== undefined) parseBody(request);
    } catch (error) {
      held.release();
      throw error;
    }
    // When the handler is done, and not when its answer was read: that may take as long as its reader likes.
    return next.handle().pipe(finalize(() => held.release()));
  }

  // It takes its places of the reads by itself, as a GET does. What is parsed may take twenty times the memory of the body.
  private async readByPost(
    context: ExecutionContext,
    access: VerifiedAccess,
    maxBytes: number,
    next: CallHandler,
  ): Promise<Observable<unknown>> {
    const request = context.switchToHttp().getRequest<LoadedRequest>();
    const { client, caller } = access;
    const callerKey = client.callerKey(caller);
    const held = new Held();
    held.push(() => forgetBody(request));
    try {
      await this.receive(context, callerKey, held, { maxBytes, mayInflate: true });
      held.push(await this.parsed.acquire(callerKey, client.abortSource));
      parseBody(request);
    } catch (error) {
      held.release();
      throw error;
    }
    return next.handle().pipe(finalize(() => held.release()));
  }

  private maxBytesOf(context: ExecutionContext): number | undefined {
    const route = [context.getHandler(), context.getClass()];
    return this.reflector.getAllAndOverride(HasBody, route) as number | undefined;
  }

  private async receive(
    context: ExecutionContext,
    callerKey: string,
    held: Held,
    limits: BodyLimits,
  ): Promise<void> {
    const http = context.switchToHttp();
    const request = http.getRequest<LoadedRequest>();
    const bytes = bodyBytes(request, limits);
    if (!this.bodies.tryAcquire(callerKey, bytes)) throw new ApiError('overloaded');
    held.push(() => this.bodies.release(callerKey, bytes));
    await receiveBody(request, http.getResponse<Response>(), limits);
  }

  /** @throws ApiError 404 for what is not there or hidden from the caller, 403 for a change of what is read-only. */
  private async load(
    caller: Caller,
    { params }: LoadedRequest,
    { resource, use }: NamedResource,
  ): Promise<unknown> {
    const name = String(params['name']);
    switch (resource) {
      case 'source':
        return this.sources.load(caller, name, use);
      case 'registry':
        return this.registries.load(caller, name, use);
      case 'entry':
        return this.entries.load(
          caller,
          { type: String(params['type']), name },
          params['version']?.toString(),
        );
    }
  }
}

// contract §6: an empty parameter counts as absent.
function isPaged({ query: { limit, cursor } }: LoadedRequest): boolean {
  return Boolean(limit) || Boolean(cursor);
}
