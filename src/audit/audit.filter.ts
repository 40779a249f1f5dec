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

/** Codes that admin routes return for missing and for hidden resources alike. */
const MAY_BE_HIDDEN: ReadonlySet<ErrorCode> = new Set([
  'source_not_found',
  'registry_not_found',
  'entry_not_found',
]);

const MANAGERS = { source: 'manageSources', registry: 'manageRegistries', entry: 'manageEntries' } as const;

/**
 * Records refusals after the response (contract §9): 401, 403, and on admin routes the 404 of hidden resources.
 *
 * Missing resources take the same path as hidden ones up to the INSERT, so that callers cannot distinguish them by timing.
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

  /** Whether a refusal is recorded; null: not even for equal timing. */
  private isRecorded({ status, code, refusedClaims }: ApiError, route: DeclaredRoute | undefined) {
    if (status === 401 || status === 403) return true;
    if (status !== 404 || !route) return null;
    if (route.named || route.isPublisherRoute || route.audited?.action === 'access.read')
      return MAY_BE_HIDDEN.has(code) ? refusedClaims !== undefined : null;
    // For consumers, hidden and missing entries are recorded alike.
    return route.isRegistryRoute && this.audit.reads ? true : null;
  }
}

// The name of a missing resource may be anything, such as a registry key in the wrong place.
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

/** Managers see the refusal if they cover the claims of the refused resource or of the entered registry. */
function scopeOf(
  { code, refusedClaims }: ApiError,
  { entered }: RoutedRequest,
  route: DeclaredRoute | undefined,
): AuditEvent['scope'] {
  const claims: Claims | undefined = refusedClaims ?? entered?.claims;
  const isEntry = refusedClaims !== undefined && code === 'entry_not_found';
  const unnamed: Role = isEntry ? 'manageEntries' : 'manageRegistries';
  const role = route?.named ? MANAGERS[route.named.resource] : unnamed;
  return claims ? boundedScope(role, [claims]) : null;
}
