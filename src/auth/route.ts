import { applyDecorators, createParamDecorator, type ExecutionContext } from '@nestjs/common';
import { Reflector } from '@nestjs/core';
import { ApiParam, type ApiParamOptions } from '@nestjs/swagger';
import type { Claims } from '../claims/claims.js';
import { ENTRY_TYPE_NAMES, type EntryType } from '../documents/entry-types.js';
import type { ErrorCode } from '../http/errors.js';
import { ApiErrors } from '../http/openapi/api-answers.js';
import { type AuthenticatedRequest, type Role, ROLES } from './caller.js';

export { type Role, ROLES };

/**
 * Who may use a route: everybody without a token, every caller, callers who may list registries, callers with any role, or
 * callers with this role.
 */
export type RouteAccess = 'public' | 'caller' | 'registryListing' | 'anyRole' | { readonly role: Role };

/** Errors of every route that reads the token (contract §8). */
const TOKEN_ERRORS = [
  'token_missing',
  'token_invalid',
  'claims_incomplete',
  'too_many_requests',
  'provider_unavailable',
] as const;

export const RouteAccessOf = Reflector.createDecorator<RouteAccess>();

/** No authentication; a token is ignored. */
export const Public = () => RouteAccessOf('public');
/** Every caller the AuthGuard accepts, with or without roles. */
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

/** How a route uses the resource it names: `change` requires a writable one, `put` also accepts a missing one. */
export type ResourceUse = 'read' | 'change' | 'put';

/** An admin route about the source, registry or entry it names as `:name`. */
export interface NamedResource {
  readonly resource: 'source' | 'registry' | 'entry';
  readonly use: ResourceUse;
}

/** The parameters that name a resource. */
const PARAMETERS: Readonly<Record<NamedResource['resource'], readonly ApiParamOptions[]>> = {
  source: [{ name: 'name', type: String, description: 'The name of a source', example: 'catalog' }],
  registry: [{ name: 'name', type: String, description: 'The name of a registry', example: 'default' }],
  entry: [
    { name: 'type', schema: { type: 'string', enum: [...ENTRY_TYPE_NAMES], example: 'server' } },
    {
      name: 'name',
      type: String,
      description: 'With its slash encoded as %2F; for a skill, `namespace/name`',
      example: 'io.github.example/weather',
    },
  ],
};

const REGISTRY_PARAMETER: ApiParamOptions = {
  name: 'registry',
  type: String,
  description: 'A name from `GET /registry`',
  example: 'default',
};

// What the ClaimsInterceptor reads of a route.
export const IsRegistryRoute = Reflector.createDecorator();
export const NamedResourceOf = Reflector.createDecorator<NamedResource>();

/** Consumer routes: `:registry` must exist and let the caller in. The handler gets a VerifiedAccess. */
export const RegistryRoute = () =>
  applyDecorators(
    IsRegistryRoute(),
    ApiParam(REGISTRY_PARAMETER),
    ApiErrors(
      'malformed_path',
      'registry_forbidden',
      'registry_not_found',
      'database_unavailable',
      'database_timeout',
    ),
  );

/** Marks a POST that only reads a registry: needs a token only where a GET does (contract §6.1, §6.3). */
export const ReadByPost = Reflector.createDecorator();

/** Who may use a publishing route: callers who may publish, or anybody. */
export type PublisherAccess = 'publishers' | 'anybody';

export const PublisherAccessOf = Reflector.createDecorator<PublisherAccess>();

/**
 * Routes for `mcp-publisher` at `:registry` (contract §6.2). The check that the registry accepts publications precedes the role
 * check, so every caller gets the same error from a registry that accepts none.
 */
export const PublisherRoute = (access: PublisherAccess) =>
  applyDecorators(
    PublisherAccessOf(access),
    ApiParam(REGISTRY_PARAMETER),
    ApiErrors('malformed_path', 'use_admin_api', 'database_unavailable', 'database_timeout'),
    ...(access === 'publishers' ? [ApiErrors('read_only', 'role_required', 'registry_forbidden')] : []),
  );

export type LongWhen = 'always' | 'unless paged';

/** Marks a route whose response may take long, so few run at a time: always, or unless the request is paged. */
export const MayBeLong = Reflector.createDecorator<LongWhen>();

/** Admin routes: the resource `:name` must exist and be visible to the caller; checked before the body is read. */
export const ResourceRoute = (named: NamedResource) =>
  applyDecorators(
    NamedResourceOf(named),
    ...PARAMETERS[named.resource].map((parameter) => ApiParam(parameter)),
    ApiErrors('malformed_path', `${named.resource}_not_found`),
    ...(named.resource !== 'entry' && named.use !== 'read' ? [ApiErrors('config_managed')] : []),
  );

/** The registry that a request has entered, for the audit trail: its claims as last read; absent once it is deleted. */
export interface EnteredRegistry {
  claims?: Claims | undefined;
}

export interface ReadEntry {
  readonly type: EntryType;
  readonly name: string;
  readonly version?: string;
}

/** A request with what the ClaimsInterceptor has loaded for its handler. */
export interface LoadedRequest extends AuthenticatedRequest {
  loaded?: unknown;
  entered?: EnteredRegistry;
  /** The entry that the request reads if its path does not name one; for the audit trail. */
  readEntry?: ReadEntry;
  /** The error code of a refusal sent inside a 200 response, such as an MCP tool error. */
  refusedInAnswer?: ErrorCode;
}

/**
 * What the ClaimsInterceptor has loaded: the VerifiedAccess of a RegistryRoute, the Registry of a PublisherRoute, or the Source, Registry
 * or entry of a ResourceRoute.
 *
 * @throws Error on a route that declares none of them.
 */
export const Loaded = createParamDecorator((_: unknown, context: ExecutionContext): unknown => {
  const { loaded } = context.switchToHttp().getRequest<LoadedRequest>();
  if (loaded === undefined)
    throw new Error('Nothing was loaded: the route declares neither registry nor resource');
  return loaded;
});

/** Actions of audit events (contract §9): stable names for filters and collectors. */
export const AUDIT_ACTIONS = [
  'source.create',
  'source.update',
  'source.delete',
  'source.sync',
  'source.read',
  'source.list',
  'registry.create',
  'registry.update',
  'registry.delete',
  'registry.read',
  'registry.list',
  'entry.publish',
  'entry.validate',
  'entry.delete',
  'entry.status',
  'entry.claims.update',
  'entry.read',
  'entry.list',
  'catalog.read',
  'access.read',
  'audit.read',
  'auth.refused',
  'request.refused',
  'sync.run',
  'config.apply',
] as const;
export type AuditAction = (typeof AUDIT_ACTIONS)[number];

export interface AuditDeclaration {
  readonly action: AuditAction;
  /** Consumer routes: the type of the entry in the path. */
  readonly entryType?: EntryType;
}

export const AuditedAs = Reflector.createDecorator<AuditDeclaration>();

/**
 * Sets the action under which refusals of a route are recorded (contract §9). Changes are recorded in their own transaction:
 * see AuditTrail.
 */
export const Audited = (action: AuditAction, entryType?: EntryType) =>
  AuditedAs({ action, ...(entryType === undefined ? {} : { entryType }) });
