import { type CallHandler, type ExecutionContext, Injectable, type NestInterceptor } from '@nestjs/common';
import { Reflector } from '@nestjs/core';
import type { Response } from 'express';
import type { Observable } from 'rxjs';
import type { Caller } from '../auth/caller.js';
import { type Client, clientIn } from '../auth/client.js';
import { callerOf } from '../auth/current-caller.js';
import {
  type LoadedRequest,
  type NamedResource,
  RegistryRoute,
  ResourceRoute,
} from '../auth/route-resource.js';
import { PoolShares } from '../database/pools/pool-shares.js';
import { EntriesService } from '../entries/entries.service.js';
import { receiveBody, TakesBody } from '../http/input/body.js';
import { RegistriesService } from '../registries/registries.service.js';
import { SourcesService } from '../sources/sources.service.js';
import { RegistryViews } from '../views/registry-views.js';

/** How long a change waits while others of the same caller are made. */
const TURN_TIMEOUT_MS = 10_000;

/**
 * The last of the global steps: what may this caller see behind the path they named? It loads the registry, source or
 * entry and hands it to the handler. Only then is the body read, on routes that take one (contract §3).
 */
@Injectable()
export class ClaimsInterceptor implements NestInterceptor {
  constructor(
    private readonly reflector: Reflector,
    private readonly views: RegistryViews,
    private readonly sources: SourcesService,
    private readonly registries: RegistriesService,
    private readonly entries: EntriesService,
    private readonly shares: PoolShares,
  ) {}

  async intercept(context: ExecutionContext, next: CallHandler): Promise<Observable<unknown>> {
    const route = [context.getHandler(), context.getClass()];
    const request = context.switchToHttp().getRequest<LoadedRequest>();
    const named = this.reflector.getAllAndOverride(ResourceRoute, route);
    const client = clientIn(context);
    if (this.reflector.getAllAndOverride(RegistryRoute, route) !== undefined)
      request.loaded = await this.views.enter(callerOf(context), client, String(request.params['registry']));
    else if (named) request.loaded = await this.load(callerOf(context), request, named);
    if (this.reflector.getAllAndOverride(TakesBody, route) !== undefined)
      await receiveBody(request, context.switchToHttp().getResponse<Response>());
    if (!['GET', 'HEAD'].includes(request.method)) await this.takeTurn(context, client);
    return next.handle();
  }

  // A change may wait for others of the same thing, and holds a connection meanwhile: somebody who sends many waits for themselves.
  private async takeTurn(context: ExecutionContext, client: Client): Promise<void> {
    const response = context.switchToHttp().getResponse<Response>();
    const giveBack = await this.shares.changes.take(
      client.keyOf(callerOf(context)),
      TURN_TIMEOUT_MS,
      client.gone(),
    );
    if (response.closed) giveBack();
    else response.once('close', giveBack);
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
