import { type CanActivate, type ExecutionContext, Inject, Injectable } from '@nestjs/common';
import type { ConfigType } from '@nestjs/config';
import { Reflector } from '@nestjs/core';
import type { Request, Response } from 'express';
import { clientIn } from '../auth/caller.js';
import {
  type AuditDeclaration,
  AuditedAs,
  IsRegistryRoute,
  type LoadedRequest,
  type NamedResource,
  NamedResourceOf,
  PublisherAccessOf,
} from '../auth/route.js';
import { AccessPolicy } from '../authz/access-policy.js';
import { auditConfig } from '../config/slices.js';
import { isEntryType } from '../documents/entry-types.js';
import { refusalStep } from '../http/refusal-step.js';
import { requestContextOf } from '../http/request-context.js';
import { actorOf, type AuditTarget, boundedScope, boundedTarget } from './audit-event.js';
import { AuditRecorder } from './audit-recorder.js';

/** The declarations of a route that matter to the audit trail. */
export interface DeclaredRoute {
  readonly audited: AuditDeclaration | undefined;
  readonly named: NamedResource | undefined;
  /** Whether it is a consumer route of a registry. */
  readonly isRegistryRoute: boolean;
  /** Whether it publishes through a registry. */
  readonly isPublisherRoute: boolean;
}

/** The resource that a request names, by the declarations of its route; else the route itself (contract §9). */
export function targetOf(request: LoadedRequest, route: DeclaredRoute | undefined): AuditTarget {
  const text = (parameter: string): string | undefined => {
    const value: unknown = request.params?.[parameter];
    return typeof value === 'string' && value !== '' ? value : undefined;
  };
  const name = text('name');
  const version = text('version');
  if (route?.isRegistryRoute && request.readEntry)
    return { ...request.readEntry, registry: text('registry') ?? '' };
  if (route?.isRegistryRoute || route?.isPublisherRoute) return consumerTarget(text, route.audited);
  if (route?.named && name !== undefined) {
    const { resource } = route.named;
    if (resource !== 'entry') return { type: resource, name };
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

// The pattern, since the path may contain secrets.
function patternOf({ route }: Request): string {
  const path: unknown = (route as { path?: unknown } | undefined)?.path;
  return typeof path === 'string' ? path : '';
}

/**
 * Records a read of a registry after the response, even an incomplete one (contract §9, `audit.reads`). AuditFilter records refused
 * requests.
 */
export function recordRead(
  context: ExecutionContext,
  request: LoadedRequest,
  route: DeclaredRoute,
  { recorder, policy }: { readonly recorder: AuditRecorder; readonly policy: AccessPolicy },
): void {
  if (route.audited?.action !== 'catalog.read') return;
  const response = context.switchToHttp().getResponse<Response>();
  const client = clientIn(context);
  response.once('close', () => {
    const { caller, entered, refusedInAnswer: code } = request;
    if (!caller || !response.headersSent || response.statusCode >= 400) return;
    recorder.record(
      {
        action: 'catalog.read',
        ...(code === undefined
          ? { outcome: 'allowed' as const }
          : { outcome: 'refused' as const, code, step: refusalStep(code) ?? code }),
        actor: actorOf(caller, policy.rolesOf(caller)),
        target: boundedTarget(targetOf(request, route)),
        context: requestContextOf(request),
        scope: entered?.claims ? boundedScope('manageRegistries', [entered.claims]) : null,
      },
      { callerKey: client.callerKey(caller), isKept: true },
    );
  });
}

/** A request that matched a route. */
export interface RoutedRequest extends LoadedRequest {
  /** The declarations of its route, looked up only for an event. */
  declaredRoute?: () => DeclaredRoute;
}

/** The first guard. It refuses nothing: it prepares the recording of refusals and reads. */
@Injectable()
export class AuditGuard implements CanActivate {
  constructor(
    private readonly reflector: Reflector,
    private readonly recorder: AuditRecorder,
    private readonly policy: AccessPolicy,
    @Inject(auditConfig.KEY) private readonly audit: ConfigType<typeof auditConfig>,
  ) {}

  canActivate(context: ExecutionContext): boolean {
    const request = context.switchToHttp().getRequest<RoutedRequest>();
    request.declaredRoute = () => this.declarationsOf(context);
    if (this.audit.reads)
      recordRead(context, request, this.declarationsOf(context), {
        recorder: this.recorder,
        policy: this.policy,
      });
    return true;
  }

  private declarationsOf(context: ExecutionContext): DeclaredRoute {
    const route = [context.getHandler(), context.getClass()];
    return {
      audited: this.reflector.getAllAndOverride(AuditedAs, route),
      named: this.reflector.getAllAndOverride(NamedResourceOf, route),
      isRegistryRoute: this.reflector.getAllAndOverride(IsRegistryRoute, route) !== undefined,
      isPublisherRoute: this.reflector.getAllAndOverride(PublisherAccessOf, route) !== undefined,
    };
  }
}
