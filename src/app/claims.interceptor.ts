import { type CallHandler, type ExecutionContext, Injectable, type NestInterceptor } from '@nestjs/common';
import { Reflector } from '@nestjs/core';
import { catchError, type Observable } from 'rxjs';
import { type Caller, callerOf } from '../auth/caller.js';
import { type LoadedRequest, LoadsOf, type NamedResource, RouteAccessOf } from '../auth/route.js';
import {
  type CatalogRequest,
  IsCatalogRead,
  type RegistryAccess,
  RegistryViews,
} from '../visibility/registry-views.js';
import { type SeenItem, SeenItems } from '../admission/seen-items.queries.js';
import { ContentUploads } from '../content/content-upload.service.js';
import { EntriesService } from '../entries/entries.service.js';
import { clientIn } from '../http/request-context.js';
import { PublisherGate } from '../mcp-publisher/publisher-gate.js';
import { RegistriesService } from '../registries/registries.service.js';
import { SourcesService } from '../sources/sources.service.js';
import { WebhooksService } from '../webhooks/webhooks.service.js';

/**
 * Decides by the caller's claims whether a request may load the resource in its path, or enter the registry, and stores
 * the result for `@Loaded()` (reference/errors).
 */
@Injectable()
export class ClaimsInterceptor implements NestInterceptor {
  constructor(
    private readonly reflector: Reflector,
    private readonly views: RegistryViews,
    private readonly sources: SourcesService,
    private readonly registries: RegistriesService,
    private readonly entries: EntriesService,
    private readonly publishers: PublisherGate,
    private readonly webhooks: WebhooksService,
    private readonly items: SeenItems,
    private readonly uploads: ContentUploads,
  ) {}

  async intercept(context: ExecutionContext, next: CallHandler): Promise<Observable<unknown>> {
    const loads = this.reflector.get(LoadsOf, context.getHandler());
    const request = context.switchToHttp().getRequest<LoadedRequest>();
    if (loads === 'view') {
      const registry = String(request.params['registry']);
      const access = await this.views.enterFromMemory(callerOf(context), clientIn(context), registry);
      if (this.reflector.get(IsCatalogRead, context.getHandler()) !== undefined)
        return this.readCatalog(request, access, next);
      const entered = access.isVerified ? access : await this.views.verify(access);
      request.loaded = entered;
      request.entered = entered.entered;
    } else if (loads === 'publisher')
      request.loaded = await this.publishers.enter(this.publisherIn(context), request);
    else if (loads !== undefined) request.loaded = await this.loadNamed(callerOf(context), request, loads);
    return next.handle();
  }

  private readCatalog(
    request: CatalogRequest,
    access: RegistryAccess,
    next: CallHandler,
  ): Observable<unknown> {
    request.catalogAccess = access;
    request.entered = access.entered;
    if (access.isVerified) return next.handle();
    // If the caller has lost access in the meantime, the resulting 403 or 404 takes precedence over any other error.
    return next.handle().pipe(
      catchError(async (error) => {
        await this.views.verify(access);
        throw error;
      }),
    );
  }

  private publisherIn(context: ExecutionContext): Caller | null {
    return this.reflector.get(RouteAccessOf, context.getHandler()) === 'public' ? null : callerOf(context);
  }

  /**
   * @returns null for a PUT that creates the resource.
   * @throws ApiError 404 for a missing or hidden resource, 403 for a change to a read-only resource.
   */
  private loadNamed(
    caller: Caller,
    request: LoadedRequest,
    { resource, use }: NamedResource,
  ): Promise<unknown> {
    const { params } = request;
    const name = String(params['name']);
    switch (resource) {
      case 'source':
        return this.sources.load(caller, name, use);
      case 'registry':
        return this.registries.load(caller, name, use);
      case 'webhook':
        return this.webhooks.load(name);
      case 'item':
        return this.loadItem(caller, request);
      case 'entry': {
        const path = { type: String(params['type']), name };
        const version = params['version']?.toString();
        return use === 'upload'
          ? this.uploads.load(caller, path, version ?? '')
          : this.entries.load(caller, path, version);
      }
    }
  }

  private async loadItem(caller: Caller, request: LoadedRequest): Promise<SeenItem> {
    const item = await this.items.load(caller, String(request.params['id']));
    const { type, name, version, source } = item;
    request.readEntry = { type, name, ...(version === null ? {} : { version }), source };
    return item;
  }
}
