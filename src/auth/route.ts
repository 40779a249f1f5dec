import { applyDecorators, createParamDecorator, type ExecutionContext } from '@nestjs/common';
import { Reflector } from '@nestjs/core';
import { ApiParam, type ApiParamOptions } from '@nestjs/swagger';
import type { Claims } from '../claims/claims.js';
import { AUDIT_ACTIONS, type AuditAction } from '../config/audit-actions.js';
import { ENTRY_TYPE_NAMES, type EntryType } from '../documents/entry-types.js';
import { ApiErrors } from '../http/openapi/api-answers.js';
import { type AuthenticatedRequest, type Role, ROLES } from './caller.js';

export { AUDIT_ACTIONS, type AuditAction, type Role, ROLES };

/**
 * Who may use a route: anyone without a token, every caller, callers who may list registries, callers with any role, or
 * callers with a specific role.
 */
export type RouteAccess = 'public' | 'caller' | 'registryListing' | 'anyRole' | { readonly role: Role };

/** Errors that any route reading the token may return (reference/authentication). */
const TOKEN_ERRORS = [
  'token_missing',
  'token_invalid',
  'claims_incomplete',
  'no_subject',
  'caller_blocked',
  'too_many_requests',
  'provider_unavailable',
] as const;

export const RouteAccessOf = Reflector.createDecorator<RouteAccess>();

/** Requires no authentication and ignores any token. */
export const Public = () => RouteAccessOf('public');
/** Every caller the AuthGuard accepts, with or without roles. */
export const AnyCaller = () => applyDecorators(RouteAccessOf('caller'), ApiErrors(...TOKEN_ERRORS));
/** Callers with this role, or with superAdmin. */
export const RequiresRole = (role: Role) =>
  applyDecorators(RouteAccessOf({ role }), ApiErrors(...TOKEN_ERRORS, 'role_required'));
/** Callers with manageRegistries; every caller where the policy `registryListing` is `readers` (reference/configuration). */
export const ListsRegistries = () =>
  applyDecorators(RouteAccessOf('registryListing'), ApiErrors(...TOKEN_ERRORS, 'role_required'));
/** Callers with any role. */
export const RequiresAnyRole = () =>
  applyDecorators(RouteAccessOf('anyRole'), ApiErrors(...TOKEN_ERRORS, 'role_required'));

/** How a route uses the resource it names: `change` requires it to be writable; `put` may also create it. */
export type ResourceUse = 'read' | 'change' | 'put';

/** What an admin route names as `:name`: a source, registry, entry or webhook; or as `:id`: an item of admission. */
export interface NamedResource {
  readonly resource: 'source' | 'registry' | 'entry' | 'webhook' | 'item';
  readonly use: ResourceUse;
}

/** Path parameters that name each kind of resource. */
const PARAMETERS: Readonly<Record<NamedResource['resource'], readonly ApiParamOptions[]>> = {
  source: [{ name: 'name', type: String, description: 'The name of a source', example: 'catalog' }],
  registry: [{ name: 'name', type: String, description: 'The name of a registry', example: 'default' }],
  webhook: [{ name: 'name', type: String, description: 'The name of a webhook', example: 'siem' }],
  item: [
    {
      name: 'id',
      schema: { type: 'string', format: 'uuid', example: '0190d6f2-5c1e-4b7a-9a53-6c1f0f1e2d3c' },
    },
  ],
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

// Route metadata read by the ClaimsInterceptor.
export const IsRegistryRoute = Reflector.createDecorator();
export const NamedResourceOf = Reflector.createDecorator<NamedResource>();

/** Marks a consumer route: `:registry` must exist and admit the caller. The handler receives a VerifiedAccess. */
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

/** Marks a POST that only reads a registry; it needs a token only where a GET would (reference/access, reference/mcp). */
export const ReadByPost = Reflector.createDecorator();

/** Accepts a token as the password of `Basic` too, and offers that in a 401: Git sends no other credentials (reference/marketplace). */
export const AcceptsBasic = Reflector.createDecorator();

/** Who may use a publishing route: callers who may publish, or anyone. */
export type PublisherAccess = 'publishers' | 'anybody';

export const PublisherAccessOf = Reflector.createDecorator<PublisherAccess>();

/**
 * Marks a route for `mcp-publisher` at `:registry` (reference/publishing). The check that the registry accepts publications comes
 * before the role check, so every caller gets the same error from a registry that accepts none.
 */
export const PublisherRoute = (access: PublisherAccess) =>
  applyDecorators(
    PublisherAccessOf(access),
    ApiParam(REGISTRY_PARAMETER),
    ApiErrors('malformed_path', 'use_admin_api', 'database_unavailable', 'database_timeout'),
    ...(access === 'publishers'
      ? [ApiErrors('read_only', 'storage_full', 'role_required', 'registry_forbidden')]
      : []),
  );

export type LongWhen = 'always' | 'unless paged';

/** Marks a route whose response may take long, always or unless the request is paged. Few such requests run at once. */
export const MayBeLong = Reflector.createDecorator<LongWhen>();

/** Marks an admin route: the resource in its path must exist and be visible to the caller. Checked before reading the body. */
export const ResourceRoute = (named: NamedResource) =>
  applyDecorators(
    NamedResourceOf(named),
    ...PARAMETERS[named.resource].map((parameter) => ApiParam(parameter)),
    ApiErrors('malformed_path', `${named.resource}_not_found`),
    ...(named.resource !== 'entry' && named.use !== 'read' ? [ApiErrors('config_managed')] : []),
  );

/** The registry that a request has entered, for the audit trail. `claims` is absent once the registry is deleted. */
export interface EnteredRegistry {
  claims?: Claims | undefined;
}

export interface ReadEntry {
  readonly type: EntryType;
  readonly name: string;
  readonly version?: string;
}

/** A request with the resource that the ClaimsInterceptor loaded for its handler. */
export interface LoadedRequest extends AuthenticatedRequest {
  loaded?: unknown;
  entered?: EnteredRegistry;
  /** The entry that the request reads if its path does not name one; for the audit trail. */
  readEntry?: ReadEntry;
}

/**
 * Handler parameter loaded by the ClaimsInterceptor: the VerifiedAccess of a RegistryRoute, the Registry of a
 * PublisherRoute, or the Source, Registry, entry, webhook or item of a ResourceRoute.
 *
 * @throws Error on a route without any of these decorators.
 */
export const Loaded = createParamDecorator((_: unknown, context: ExecutionContext): unknown => {
  const { loaded } = context.switchToHttp().getRequest<LoadedRequest>();
  if (loaded === undefined)
    throw new Error('Nothing was loaded: the route declares neither a registry nor a resource');
  return loaded;
});

export interface AuditDeclaration {
  readonly action: AuditAction;
  /** For consumer routes: the type of the entry in the path. */
  readonly entryType?: EntryType;
}

export const AuditedAs = Reflector.createDecorator<AuditDeclaration>();

/**
 * Sets the action under which a route's refusals are recorded (reference/audit). AuditTrail records changes, in the transaction
 * that makes them.
 */
export const Audited = (action: AuditAction, entryType?: EntryType) =>
  AuditedAs({ action, ...(entryType === undefined ? {} : { entryType }) });
