import { Reflector } from '@nestjs/core';

/** spec §2.3. */
export const ROLES = ['superAdmin', 'manageSources', 'manageRegistries', 'manageEntries'] as const;
export type Role = (typeof ROLES)[number];

/** Who may use a route: everybody without a token, every caller, or the callers with a role. */
export type RouteAccess = 'public' | 'caller' | { readonly role: Role };

export const RouteAccessOf = Reflector.createDecorator<RouteAccess>();

/** No token is looked at. */
export const Public = () => RouteAccessOf('public');
/** Whoever the AuthGuard lets in, whatever their roles. */
export const AnyCaller = () => RouteAccessOf('caller');
/** Callers with this role, or with superAdmin. */
export const RequiresRole = (role: Role) => RouteAccessOf({ role });
