import { type CanActivate, type ExecutionContext, Inject, Injectable } from '@nestjs/common';
import type { ConfigType } from '@nestjs/config';
import { Reflector } from '@nestjs/core';
import type { Response } from 'express';
import { AuditedAs } from '../auth/audited.js';
import { clientIn } from '../auth/client.js';
import {
  IsRegistryRoute,
  type LoadedRequest,
  NamedResourceOf,
  PublisherAccessOf,
} from '../auth/route-resource.js';
import { AccessPolicy } from '../authz/access-policy.js';
import { auditConfig } from '../config/slices.js';
import { refusalStep } from '../http/refusal-step.js';
import { requestContextOf } from '../http/request-context.js';
import { actorOf, boundedScope, boundedTarget } from './audit-event.js';
import { AuditRecorder } from './audit-recorder.js';
import { type DeclaredRoute, targetOf } from './request-target.js';

/** A request that a route of ours has taken. */
export interface RoutedRequest extends LoadedRequest {
  /** What its route declares; looked up when there is something to record. */
  declaredRoute?: () => DeclaredRoute;
}

/** Stands before all other steps and refuses nothing: it keeps what refusals are recorded by, and has reads recorded. */
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
    if (this.audit.reads) this.recordRead(context, request);
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

  // contract §9. Also an answer of which not all was taken; what was refused is recorded by the AuditFilter.
  private recordRead(context: ExecutionContext, request: RoutedRequest): void {
    const route = this.declarationsOf(context);
    if (route.audited?.action !== 'catalog.read') return;
    const response = context.switchToHttp().getResponse<Response>();
    const client = clientIn(context);
    response.once('close', () => {
      const { caller, registryClaims, refusedInAnswer: code } = request;
      if (!caller || !response.headersSent || response.statusCode >= 400) return;
      this.recorder.record(
        {
          action: 'catalog.read',
          ...(code === undefined
            ? { outcome: 'allowed' as const }
            : { outcome: 'refused' as const, code, step: refusalStep(code) ?? code }),
          actor: actorOf(caller, this.policy.rolesOf(caller)),
          target: boundedTarget(targetOf(request, route)),
          context: requestContextOf(request),
          scope: registryClaims ? boundedScope('manageRegistries', [registryClaims]) : null,
        },
        { client: client.keyOf(caller), isKept: true },
      );
    });
  }
}
