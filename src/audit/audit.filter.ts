import { type ArgumentsHost, Catch, Inject, Injectable } from '@nestjs/common';
import type { ConfigType } from '@nestjs/config';
import type { Request } from 'express';
import { Client } from '../auth/caller.js';
import type { Role } from '../auth/route.js';
import { AccessPolicy } from '../authz/access-policy.js';
import type { Claims } from '../claims/claims.js';
import { withoutKeys } from '../config/registry-keys.js';
import { auditConfig } from '../config/slices.js';
import { ErrorFilter } from '../http/error.filter.js';
import type { ApiError, ErrorCode } from '../http/errors.js';
import { refusalStep } from '../http/refusal-step.js';
import { requestContextOf } from '../http/request-context.js';
import { actorOf, type AuditEvent, type AuditTarget, boundedScope, boundedTarget } from './audit-event.js';
import { AuditRecorder } from './audit-recorder.js';
import { type DeclaredRoute, type RoutedRequest, targetOf } from './audit.guard.js';

/** Answers of admin routes that are the same for what is missing and for what is hidden. */
const MAY_BE_HIDDEN: ReadonlySet<ErrorCode> = new Set([
  'source_not_found',
  'registry_not_found',
  'entry_not_found',
]);

const MANAGERS = { source: 'manageSources', registry: 'manageRegistries', entry: 'manageEntries' } as const;

/**
 * Records refusals once they have been answered (contract §9): 401, 403, and of admin routes the 404 of what is hidden. A 400, 409,
 * 412 or 5xx leaves nothing.
 *
 * For what is missing the same is done as for what is hidden, up to the statement that writes, so that neither the answer nor the
 * time after it tells the two apart.
 */
@Catch()
@Injectable()
export class AuditFilter extends ErrorFilter {
  constructor(
    private readonly recorder: AuditRecorder,
    private readonly policy: AccessPolicy,
    @Inject(auditConfig.KEY) private readonly audit: ConfigType<typeof auditConfig>,
  ) {
    super();
  }

  override catch(thrown: unknown, host: ArgumentsHost): ApiError | undefined {
    const error = super.catch(thrown, host);
    if (error) this.record(error, host.switchToHttp().getRequest<Request>());
    return error;
  }

  private record(error: ApiError, request: Request): void {
    const { declaredRoute, caller, res } = request as RoutedRequest;
    const route = declaredRoute?.();
    const isKept = this.isRecorded(error, route);
    if (isKept === null) return;
    const step = refusalStep(error.code) ?? error.code;
    const event: AuditEvent = {
      action: error.status === 401 ? 'auth.refused' : (route?.audited?.action ?? 'request.refused'),
      outcome: 'refused',
      code: error.code,
      step,
      actor: actorOf(caller, caller ? this.policy.rolesOf(caller) : []),
      target: boundedTarget(shownTarget(targetOf(request, route), error)),
      context: requestContextOf(request),
      scope: scopeOf(error, request as RoutedRequest, route),
    };
    const client = new Client(request, res as NonNullable<typeof res>);
    this.recorder.record(event, { callerKey: caller ? client.callerKey(caller) : client.clientKey, isKept });
  }

  /** Whether a refusal is recorded; null: not even in appearance. */
  private isRecorded({ status, code, refusedClaims }: ApiError, route: DeclaredRoute | undefined) {
    if (status === 401 || status === 403) return true;
    if (status !== 404 || !route) return null;
    if (route.named || route.isPublisherRoute || route.audited?.action === 'access.read')
      return MAY_BE_HIDDEN.has(code) ? refusedClaims !== undefined : null;
    // Of consumers, hidden and missing alike.
    return route.isRegistryRoute && this.audit.reads ? true : null;
  }
}

// A name that leads to nothing may be anything, such as a key that somebody has put into the wrong place.
function shownTarget(target: AuditTarget, { status, refusedClaims }: ApiError): AuditTarget {
  if (status === 403 || refusedClaims) return target;
  const { name, version, registry } = target;
  return {
    ...target,
    name: withoutKeys(name),
    ...(version === undefined ? {} : { version: withoutKeys(version) }),
    ...(registry === undefined ? {} : { registry: withoutKeys(registry) }),
  };
}

/** Who may know of it: who reaches what was refused, or the registry that it was asked for in. */
function scopeOf(
  { code, refusedClaims }: ApiError,
  { entered }: RoutedRequest,
  route: DeclaredRoute | undefined,
): AuditEvent['scope'] {
  const claims: Claims | undefined = refusedClaims ?? entered?.claims;
  const isEntry = refusedClaims !== undefined && code === 'entry_not_found';
  const ofOthers: Role = isEntry ? 'manageEntries' : 'manageRegistries';
  const role = route?.named ? MANAGERS[route.named.resource] : ofOthers;
  return claims ? boundedScope(role, [claims]) : null;
}
