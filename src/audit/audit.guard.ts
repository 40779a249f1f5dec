import { type CanActivate, type ExecutionContext, Inject, Injectable } from '@nestjs/common';
import type { ConfigType } from '@nestjs/config';
import { Reflector } from '@nestjs/core';
import {
  AuditedAs,
  IsRegistryRoute,
  type LoadedRequest,
  NamedResourceOf,
  PublisherAccessOf,
} from '../auth/route.js';
import { AccessPolicy } from '../authz/access-policy.js';
import { auditConfig } from '../config/slices.js';
import { AuditRecorder } from './audit-recorder.js';
import { recordRead } from './audited-reads.js';
import type { DeclaredRoute } from './request-target.js';

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
