import { createParamDecorator, type ExecutionContext } from '@nestjs/common';
import { Reflector } from '@nestjs/core';
import { type LoadedRequest, Route, type RouteDocumentation } from '../auth/route.js';
import type { EntryType } from '../documents/entry-types.js';
import type { CachedJson } from '../http/json-answers.js';
import type { RegistryAccess } from '../visibility/registry-views.js';

/** A request to a CatalogRead route. The access is not in `loaded`, because other handlers read that property. */
export interface CatalogRequest extends LoadedRequest {
  catalogAccess?: RegistryAccess;
}

/** Marks a CatalogRead route for the ClaimsInterceptor. */
export const IsCatalogRead = Reflector.createDecorator();

/**
 * Declares a GET of a registry whose handler receives a RememberedAccess as its first argument, through `@CatalogAccess()`. Use it
 * only for reads through CatalogService, which verifies the access before or during the read. All other handlers get a
 * VerifiedAccess.
 */
export const CatalogRead =
  (path: string, entryType: EntryType | undefined, documentation: RouteDocumentation) =>
  <Handler extends (access: RegistryAccess, ...more: never[]) => Promise<CachedJson>>(
    target: object,
    key: string,
    handler: TypedPropertyDescriptor<Handler>,
  ): void => {
    IsCatalogRead()(target, key, handler);
    const audit = { action: 'catalog.read', entryType } as const;
    Route('GET', path, { access: 'caller', audit, loads: 'view', ...documentation })(target, key, handler);
  };

/** Injects the caller's access into a CatalogRead handler. */
export const CatalogAccess = createParamDecorator((_: unknown, context: ExecutionContext): RegistryAccess => {
  const { catalogAccess } = context.switchToHttp().getRequest<CatalogRequest>();
  if (!catalogAccess) throw new Error('The route is not declared with @CatalogRead()');
  return catalogAccess;
});
