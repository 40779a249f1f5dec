import { createParamDecorator, type ExecutionContext } from '@nestjs/common';
import { Reflector } from '@nestjs/core';
import type { LoadedRequest } from '../auth/route.js';
import type { CachedJson } from '../http/json-answers.js';
import type { RegistryAccess } from '../visibility/registry-views.js';

/** A request to a CatalogRead route. Its access is kept out of `loaded`, which other handlers read. */
export interface CatalogRequest extends LoadedRequest {
  catalogAccess?: RegistryAccess;
}

/** Set by CatalogRead, read by the ClaimsInterceptor. */
export const IsCatalogRead = Reflector.createDecorator();

/**
 * Lets the handler of a RegistryRoute receive a remembered access, as its first argument through `@CatalogAccess()`. Only
 * for reads through CatalogService, which verifies the access, before or within the read. All other handlers get a VerifiedAccess.
 */
export const CatalogRead =
  () =>
  <Handler extends (access: RegistryAccess, ...more: never[]) => Promise<CachedJson>>(
    target: object,
    key: string,
    handler: TypedPropertyDescriptor<Handler>,
  ): void => {
    IsCatalogRead()(target, key, handler);
  };

/** The access of a CatalogRead. */
export const CatalogAccess = createParamDecorator((_: unknown, context: ExecutionContext): RegistryAccess => {
  const { catalogAccess } = context.switchToHttp().getRequest<CatalogRequest>();
  if (!catalogAccess) throw new Error('The route is not declared with @CatalogRead()');
  return catalogAccess;
});
