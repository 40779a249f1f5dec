import {
  All,
  applyDecorators,
  createParamDecorator,
  Delete,
  type ExecutionContext,
  Get,
  HttpCode,
  Patch,
  Post,
  Put,
} from '@nestjs/common';
import { Reflector } from '@nestjs/core';
import {
  ApiExcludeEndpoint,
  ApiOperation,
  ApiParam,
  type ApiParamOptions,
  ApiResponse,
  type ApiResponseOptions,
} from '@nestjs/swagger';
import type { Request } from 'express';
import type { Claims } from '../claims/claims.js';
import { AUDIT_ACTIONS, type AuditAction } from '../config/audit-actions.js';
import { ENTRY_TYPE_NAMES, type EntryType } from '../documents/entry-types.js';
import { BODY_ERRORS, type RouteBody, TakesBody } from '../http/body.js';
import type { ErrorCode } from '../http/errors.js';
import { type Answer, ApiAnswer, ApiErrors, ApiIfMatch } from '../http/openapi/api-answers.js';
import { type AuthenticatedRequest, type Role, ROLES } from './caller.js';

export { AUDIT_ACTIONS, type AuditAction, type Role, ROLES };

const METHODS = { GET: Get, POST: Post, PUT: Put, PATCH: Patch, DELETE: Delete, ALL: All };

/**
 * Who may use a route: anyone, without authentication (`public`); every caller the AuthGuard accepts (`caller`); callers with any
 * role; callers with a specific role, or with superAdmin; callers with manageRegistries, or every caller where the policy
 * `registryListing` is `readers` (reference/configuration).
 */
export type RouteAccess = 'public' | 'caller' | 'anyRole' | Role | 'registryListing';

/**
 * How a route uses the resource in its path: `change` requires it to be writable; `put` may also create it; `upload`
 * adds the content of a version, which may be held for it.
 */
export type ResourceUse = 'read' | 'change' | 'put' | 'upload';

/**
 * The resource in the path of an admin route: a source, registry, entry or webhook as `:name`, or an admission item as
 * `:id`.
 */
export interface NamedResource {
  readonly resource: 'source' | 'registry' | 'entry' | 'webhook' | 'item';
  readonly use: ResourceUse;
}

/**
 * The resource in the path, which the ClaimsInterceptor loads for `@Loaded()`: for consumer routes a VerifiedAccess to
 * `:registry`, which must admit the caller; for routes of `mcp-publisher` the Registry, which must accept publications
 * (reference/publishing); for admin routes the resource, which must be visible to the caller. Checked before reading
 * the body.
 */
export type Loads = 'view' | 'publisher' | NamedResource;

export interface AuditDeclaration {
  readonly action: AuditAction;
  /** The type of the entry in the path, for consumer routes. */
  readonly entryType?: EntryType | undefined;
}

export type LongWhen = 'always' | 'unless paged';

/** Whether a request is read-only despite its method. */
export type WritesNothing = (request: Request) => boolean;

// Route metadata, read by the guards and interceptors.
export const RouteAccessOf = Reflector.createDecorator<RouteAccess>();
export const AuditedAs = Reflector.createDecorator<AuditDeclaration>();
export const LoadsOf = Reflector.createDecorator<Loads>();
export const MayBeLong = Reflector.createDecorator<LongWhen>();
export const WritesNothingOf = Reflector.createDecorator<WritesNothing>();
export const AcceptsBasic = Reflector.createDecorator();

interface RouteBehavior {
  readonly access: RouteAccess;
  /**
   * The action under which refusals are recorded (reference/audit); null if none are. AuditTrail records changes, in the transaction
   * that makes them.
   */
  readonly audit: AuditAction | AuditDeclaration | null;
  readonly loads?: Loads;
  /** If absent, bodies are neither inflated nor parsed. */
  readonly body?: RouteBody;
  /** The status of a response whose handler sets none; if absent, 200, or 204 for a route without a response body. */
  readonly status?: number;
  /** A consumer route of this kind needs a token only where a GET would (reference/access, reference/mcp). */
  readonly writesNothing?: true | WritesNothing;
  /** When the response may take long: always, or only if the request is not paged. Only a few such requests run concurrently. */
  readonly mayBeLong?: LongWhen;
  /**
   * Accepts a token as the password of `Basic`, and offers it in a 401: Git sends no other credentials
   * (reference/marketplace).
   */
  readonly acceptsBasic?: true;
}

/** The description of a route in the OpenAPI document. */
export interface RouteDocumentation {
  /** The ID must never change. */
  readonly operationId: string;
  readonly summary: string;
  readonly description?: string;
  /** Path parameters except those of `loads`. */
  readonly parameters?: readonly ApiParamOptions[];
  readonly answer: Answer;
  /** Further successful responses. */
  readonly also?: readonly ApiResponseOptions[];
  /** Whether the change accepts `If-Match`. */
  readonly ifMatch?: true;
  /** Errors that the other members do not imply. */
  readonly errors: readonly ErrorCode[];
}

export type RouteDeclaration = RouteBehavior & (RouteDocumentation | { readonly openApi: false });

/** Declares a handler: its path below the controller's, who may use it, what it loads, and its documentation. */
export function Route(method: keyof typeof METHODS, path: string, route: RouteDeclaration): MethodDecorator {
  const { access, audit, loads, body, writesNothing, mayBeLong, acceptsBasic } = route;
  const status = route.status ?? ('answer' in route && route.answer === null ? 204 : 200);
  return applyDecorators(
    METHODS[method](path),
    HttpCode(status),
    RouteAccessOf(access),
    ...(audit === null ? [] : [AuditedAs(typeof audit === 'string' ? { action: audit } : audit)]),
    ...(loads ? [LoadsOf(loads)] : []),
    ...(body ? [TakesBody(body)] : []),
    ...(writesNothing ? [WritesNothingOf(writesNothing === true ? () => true : writesNothing)] : []),
    ...(mayBeLong ? [MayBeLong(mayBeLong)] : []),
    ...(acceptsBasic ? [AcceptsBasic()] : []),
    ...('openApi' in route ? [ApiExcludeEndpoint()] : documentationOf(method, status, route)),
  );
}

function documentationOf(
  method: string,
  status: number,
  route: RouteBehavior & RouteDocumentation,
): MethodDecorator[] {
  const { operationId, summary, description, parameters = [], answer, also = [], ifMatch, loads } = route;
  return [
    ApiOperation({ operationId, summary, ...(description === undefined ? {} : { description }) }),
    ...(ifMatch ? [ApiIfMatch()] : []),
    ApiAnswer(method, status, answer),
    ...also.map((other) => ApiResponse(other)),
    ...[...parameters, ...(loads ? parametersOf(loads) : [])].map((parameter) => ApiParam(parameter)),
    ApiErrors([
      ...(method !== 'GET' && route.writesNothing !== true ? (['read_only', 'storage_full'] as const) : []),
      ...route.errors,
      ...(['internal_error', 'overloaded'] as const),
      ...(ifMatch ? (['precondition_failed'] as const) : []),
      ...(route.body && !('streams' in route.body) ? BODY_ERRORS : []),
      ...(loads ? loadingErrors(loads, route.access) : []),
      // Audited actions always concern stored data.
      ...(route.audit || loads ? (['database_unavailable', 'database_timeout'] as const) : []),
      ...accessErrors(route.access),
    ]),
  ];
}

const REGISTRY_PARAMETER: ApiParamOptions = {
  name: 'registry',
  type: String,
  description: 'A name from `GET /registry`',
  example: 'default',
};

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

function parametersOf(loads: Loads): readonly ApiParamOptions[] {
  return typeof loads === 'string' ? [REGISTRY_PARAMETER] : PARAMETERS[loads.resource];
}

function loadingErrors(loads: Loads, access: RouteAccess): readonly ErrorCode[] {
  if (loads === 'view') return ['malformed_path', 'registry_forbidden', 'registry_not_found'];
  if (loads === 'publisher')
    return [
      'malformed_path',
      'use_admin_api',
      // The check that the registry accepts publications comes before the role check, so every caller gets the same error from a
      // registry that accepts none.
      ...(access === 'public' ? [] : (['role_required', 'registry_forbidden'] as const)),
    ];
  const { resource, use } = loads;
  return [
    'malformed_path',
    `${resource}_not_found`,
    ...(resource !== 'entry' && use !== 'read' ? (['config_managed'] as const) : []),
  ];
}

/** Errors that any route reading the token may return (reference/authentication). */
function accessErrors(access: RouteAccess): readonly ErrorCode[] {
  if (access === 'public') return [];
  return [
    'token_missing',
    'token_invalid',
    'claims_incomplete',
    'no_subject',
    'caller_blocked',
    'too_many_requests',
    'provider_unavailable',
    ...(access === 'caller' ? [] : (['role_required'] as const)),
  ];
}

/** The registry that a request has entered, for the audit trail. `claims` is absent once the registry is deleted. */
export interface EnteredRegistry {
  claims?: Claims | undefined;
}

export interface ReadEntry {
  readonly type: EntryType;
  readonly name: string;
  readonly version?: string;
  readonly source?: string;
}

/** A request with the resource that the ClaimsInterceptor loaded for its handler. */
export interface LoadedRequest extends AuthenticatedRequest {
  loaded?: unknown;
  entered?: EnteredRegistry;
  /** The entry that the request is about if its path does not contain one; for the audit trail. */
  readEntry?: ReadEntry;
}

/**
 * Handler parameter: what the route `loads`.
 *
 * @throws Error on a route that loads nothing.
 */
export const Loaded = createParamDecorator((_: unknown, context: ExecutionContext): unknown => {
  const { loaded } = context.switchToHttp().getRequest<LoadedRequest>();
  if (loaded === undefined) throw new Error('The route declares nothing that it loads');
  return loaded;
});
