import { createParamDecorator, type ExecutionContext } from '@nestjs/common';
import { Reflector } from '@nestjs/core';
import type { AuthenticatedRequest } from './current-caller.js';

/** What a route does to the resource it names: `change` needs one that is not read-only, `put` also goes on when there is none. */
export type ResourceUse = 'read' | 'change' | 'put';

/** An admin route about the source, registry or entry it names as `:name`. */
export interface NamedResource {
  readonly resource: 'source' | 'registry' | 'entry';
  readonly use: ResourceUse;
}

/** Consumer routes: `:registry` must exist and let the caller in, and the handler gets what they see of it. */
export const RegistryRoute = Reflector.createDecorator();

/** Lists that are complete unless `limit` is given, however long they are: few are made at a time. */
export const MayBeLong = Reflector.createDecorator();

/** Admin routes: what `:name` says must be there for this caller, before the body is looked at. */
export const ResourceRoute = Reflector.createDecorator<NamedResource>();

/** A request with what the ClaimsInterceptor has loaded for its handler. */
export interface LoadedRequest extends AuthenticatedRequest {
  loaded?: unknown;
}

/**
 * What the ClaimsInterceptor has loaded, read once a request: the RegistryAccess of a RegistryRoute, the Source, Registry or
 * entry of a ResourceRoute. A handler without one is a fault of ours.
 */
export const Loaded = createParamDecorator((_: unknown, context: ExecutionContext): unknown => {
  const { loaded } = context.switchToHttp().getRequest<LoadedRequest>();
  if (loaded === undefined)
    throw new Error('Nothing was loaded: the route declares neither registry nor resource');
  return loaded;
});
