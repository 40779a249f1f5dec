import {
  type ArgumentsHost,
  type CallHandler,
  Catch,
  type ExecutionContext,
  Inject,
  Injectable,
  type NestInterceptor,
} from '@nestjs/common';
import type { ConfigType } from '@nestjs/config';
import { Reflector } from '@nestjs/core';
import type { Request, Response } from 'express';
import type { Observable } from 'rxjs';
import { callerKeyOf } from '../auth/caller.js';
import {
  type AuditDeclaration,
  AuditedAs,
  type LoadedRequest,
  type Loads,
  LoadsOf,
  type Role,
} from '../auth/route.js';
import { AccessPolicy } from '../authz/access-policy.js';
import type { Claims } from '../claims/claims.js';
import { READ_ACTIONS } from '../config/audit-actions.js';
import { auditConfig } from '../config/slices.js';
import { isEntryType } from '../documents/entry-types.js';
import { ErrorFilter } from '../http/error.filter.js';
import { type ApiError, type ErrorCode, refusalStep } from '../http/errors.js';
import { Client, requestContextOf } from '../http/request-context.js';
import { withoutKeys } from '../validation/redaction.js';
import { actorOf, type AuditEvent, type AuditTarget, boundedScope, boundedTarget } from './audit-event.js';
import { RefusalsAndReads } from './refusals-and-reads.js';

/** The route's declarations that the audit trail needs. */
interface DeclaredRoute {
  readonly audited: AuditDeclaration | undefined;
  readonly loads: Loads | undefined;
}

/** Returns the resource that the route's decorators identify, or else the route itself (reference/audit). */
function targetOf(request: LoadedRequest, route: DeclaredRoute | undefined): AuditTarget {
  const text = (parameter: string): string | undefined => {
    const value: unknown = request.params?.[parameter];
    return typeof value === 'string' && value !== '' ? value : undefined;
  };
  const name = text('name');
  const version = text('version');
  const loads = route?.loads;
  if (request.readEntry)
    return { ...request.readEntry, ...(loads === 'view' ? { registry: text('registry') ?? '' } : {}) };
  if (typeof loads === 'string') return consumerTarget(text, route?.audited);
  if (loads && name !== undefined) {
    const { resource } = loads;
    if (resource !== 'entry' && resource !== 'item') return { type: resource, name };
    const type = text('type') ?? '';
    if (isEntryType(type)) return { type, name, ...(version === undefined ? {} : { version }) };
  }
  return { type: 'route', name: `${request.method} ${patternOf(request)}`.trim() };
}

function consumerTarget(
  text: (parameter: string) => string | undefined,
  audited: AuditDeclaration | undefined,
): AuditTarget {
  const registry = text('registry') ?? '';
  const name = text('name');
  const version = text('version');
  if (audited?.entryType === undefined || name === undefined) return { type: 'registry', name: registry };
  const namespace = text('namespace');
  return {
    type: audited.entryType,
    name: namespace === undefined ? name : `${namespace}/${name}`,
    ...(version === undefined ? {} : { version }),
    registry,
  };
}

// Returns the route pattern, because the path may contain secrets.
function patternOf({ route }: Request): string {
  const path: unknown = (route as { path?: unknown } | undefined)?.path;
  return typeof path === 'string' ? path : '';
}

function declarationsOf(reflector: Reflector, { handler }: LoadedRequest): DeclaredRoute | undefined {
  return handler && { audited: reflector.get(AuditedAs, handler), loads: reflector.get(LoadsOf, handler) };
}

/**
 * Records each read of a registry after the response, even if the client received only part of it (reference/audit).
 * Provided if `audit.reads` is set. AuditFilter records refused requests.
 */
@Injectable()
export class ReadsInterceptor implements NestInterceptor {
  constructor(
    private readonly reflector: Reflector,
    private readonly recorder: RefusalsAndReads,
    private readonly policy: AccessPolicy,
  ) {}

  intercept(context: ExecutionContext, next: CallHandler): Observable<unknown> {
    const http = context.switchToHttp();
    const request = http.getRequest<LoadedRequest>();
    const response = http.getResponse<Response>();
    const route = declarationsOf(this.reflector, request);
    const action = route?.audited?.action;
    if (action !== undefined && READ_ACTIONS.includes(action))
      response.once('close', () => this.record(action, request, response, route));
    return next.handle();
  }

  private record(
    action: AuditEvent['action'],
    request: LoadedRequest,
    response: Response,
    route: DeclaredRoute | undefined,
  ): void {
    const { caller, entered } = request;
    if (!caller || !response.headersSent || response.statusCode >= 400) return;
    this.recorder.record(
      {
        action,
        outcome: 'allowed',
        actor: actorOf(caller, this.policy.rolesOf(caller)),
        target: boundedTarget(targetOf(request, route)),
        context: requestContextOf(request),
        scope: entered?.claims ? boundedScope('manageRegistries', [entered.claims]) : null,
      },
      { callerKey: callerKeyOf(caller, new Client(request, response)), isKept: true },
    );
  }
}

/** Error codes that admin routes return for both missing and hidden resources. */
const MAY_BE_HIDDEN: ReadonlySet<ErrorCode> = new Set([
  'source_not_found',
  'registry_not_found',
  'entry_not_found',
  'item_not_found',
]);

const MANAGERS = {
  source: 'manageSources',
  registry: 'manageRegistries',
  entry: 'manageEntries',
  webhook: 'superAdmin',
  item: 'manageSources',
} as const;

/**
 * Records refusals after the response (reference/audit): 401, 403 and, on admin routes, 404 for hidden resources.
 *
 * Missing resources take the same path as hidden ones up to the INSERT, so that callers cannot distinguish them by
 * timing.
 */
@Catch()
@Injectable()
export class AuditFilter extends ErrorFilter {
  constructor(
    private readonly reflector: Reflector,
    private readonly recorder: RefusalsAndReads,
    private readonly policy: AccessPolicy,
    @Inject(auditConfig.KEY) private readonly audit: ConfigType<typeof auditConfig>,
  ) {
    super();
  }

  override catch(thrown: unknown, host: ArgumentsHost): ApiError | undefined {
    const error = super.catch(thrown, host);
    if (error) this.record(error, host.switchToHttp().getRequest<LoadedRequest>());
    return error;
  }

  private record(error: ApiError, request: LoadedRequest): void {
    const { caller, res } = request;
    const route = declarationsOf(this.reflector, request);
    const isKept = this.isRecorded(error, route);
    if (isKept === null) return;
    const step = refusalStep(error.code) ?? error.code;
    const event: AuditEvent = {
      action: error.status === 401 ? 'auth.refused' : (route?.audited?.action ?? 'request.refused'),
      outcome: 'refused',
      code: error.code,
      step,
      actor: actorOf(caller, caller ? this.policy.rolesOf(caller) : []),
      target: boundedTarget(shownTarget(error.refusedVersion ?? targetOf(request, route), error)),
      token: error.token,
      context: requestContextOf(request),
      scope: scopeOf(error, request, route),
    };
    const client = new Client(request, res as NonNullable<typeof res>);
    this.recorder.record(event, {
      callerKey: caller ? callerKeyOf(caller, client) : client.clientKey,
      isKept,
    });
  }

  /** Returns true to record a refusal, false to process it without storing it (for equal timing), null to skip it. */
  private isRecorded({ status, code, refusedClaims }: ApiError, route: DeclaredRoute | undefined) {
    if (status === 401 || status === 403) return true;
    if (status !== 404 || !route) return null;
    // Hidden and missing entries are recorded alike on consumer routes.
    if (route.loads === 'view') return this.audit.reads ? true : null;
    if (!route.loads && route.audited?.action !== 'access.read') return null;
    return MAY_BE_HIDDEN.has(code) ? refusedClaims !== undefined : null;
  }
}

/**
 * Replaces everything that could be a registry key in the wrong place, except the names of existing resources. Claims are
 * known only of an existing resource: the registry refused at its gate, or the resource that the request names.
 */
function shownTarget(target: AuditTarget, { code, refusedClaims }: ApiError): AuditTarget {
  const { name, version, registry } = target;
  const isFound = refusedClaims !== undefined;
  const isNameFound = isFound && (registry === undefined || code === 'entry_not_found');
  return {
    ...target,
    name: isNameFound ? name : withoutKeys(name),
    ...(version === undefined ? {} : { version: withoutKeys(version) }),
    ...(registry === undefined ? {} : { registry: isFound ? registry : withoutKeys(registry) }),
  };
}

/** Managers see a refusal if they cover the claims of the refused resource or of the entered registry. */
function scopeOf(
  { code, refusedClaims, refusedVersion }: ApiError,
  { entered }: LoadedRequest,
  route: DeclaredRoute | undefined,
): AuditEvent['scope'] {
  const claims: Claims | undefined = refusedClaims ?? entered?.claims;
  const isEntry = refusedVersion !== undefined || (refusedClaims !== undefined && code === 'entry_not_found');
  const unnamed: Role = isEntry ? 'manageEntries' : 'manageRegistries';
  const role = typeof route?.loads === 'object' ? MANAGERS[route.loads.resource] : unnamed;
  return claims ? boundedScope(role, [claims]) : null;
}
