import { applyDecorators } from '@nestjs/common';
import { Reflector } from '@nestjs/core';
import { ApiErrors } from '../http/openapi/api-answers.js';
import { type Role, ROLES } from './role-names.js';

export { type Role, ROLES };

/**
 * Who may use a route: everybody without a token, every caller, who may list registries, who has any role at all, or who has
 * this one.
 */
export type RouteAccess = 'public' | 'caller' | 'registryListing' | 'anyRole' | { readonly role: Role };

/** Of whoever asks for a token (contract §8). */
const TOKEN_ERRORS = [
  'token_missing',
  'token_invalid',
  'claims_incomplete',
  'too_many_requests',
  'provider_unavailable',
] as const;

export const RouteAccessOf = Reflector.createDecorator<RouteAccess>();

/** Tokens are ignored. */
export const Public = () => RouteAccessOf('public');
/** Every caller the AuthGuard lets in, whatever their roles. */
export const AnyCaller = () => applyDecorators(RouteAccessOf('caller'), ApiErrors(...TOKEN_ERRORS));
/** Callers with this role, or with superAdmin. */
export const RequiresRole = (role: Role) =>
  applyDecorators(RouteAccessOf({ role }), ApiErrors(...TOKEN_ERRORS, 'role_required'));
/** Callers with manageRegistries; every caller where the policy `registryListing` is `readers` (contract §2). */
export const ListsRegistries = () =>
  applyDecorators(RouteAccessOf('registryListing'), ApiErrors(...TOKEN_ERRORS, 'role_required'));
/** Callers with any role. */
export const RequiresAnyRole = () =>
  applyDecorators(RouteAccessOf('anyRole'), ApiErrors(...TOKEN_ERRORS, 'role_required'));
