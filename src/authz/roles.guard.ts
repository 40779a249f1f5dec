import { type CanActivate, type ExecutionContext, Inject, Injectable } from '@nestjs/common';
import type { ConfigType } from '@nestjs/config';
import { Reflector } from '@nestjs/core';
import type { Request } from 'express';
import { type Caller, callerOf } from '../auth/caller.js';
import { ROLES, type RouteAccess, RouteAccessOf, WritesNothingOf } from '../auth/route.js';
import { changesConfig } from '../config/slices.js';
import { ApiError } from '../http/errors.js';
import { AccessPolicy } from './access-policy.js';

/** Checks the role that a route requires. Refuses all callers on a route that declares no access. */
@Injectable()
export class RolesGuard implements CanActivate {
  constructor(
    private readonly reflector: Reflector,
    private readonly policy: AccessPolicy,
  ) {}

  canActivate(context: ExecutionContext): boolean {
    const access = this.reflector.get(RouteAccessOf, context.getHandler());
    if (access === undefined) throw new ApiError('access_undeclared');
    if (access === 'public' || access === 'caller') return true;
    const caller = callerOf(context);
    if (!this.may(caller, access)) throw new ApiError('role_required');
    return true;
  }

  private may(caller: Caller, access: Exclude<RouteAccess, 'public' | 'caller'>): boolean {
    if (access === 'registryListing') return this.policy.mayListRegistries(caller);
    if (access === 'anyRole') return ROLES.some((role) => this.policy.mayAct(caller, role));
    return this.policy.mayAct(caller, access);
  }
}

/**
 * Refuses all writes with 403 while `readOnly` is set, after the role check and before loading (reference/errors). All
 * methods except GET and HEAD count as writes, unless the route declares otherwise.
 */
@Injectable()
export class ReadOnlyGuard implements CanActivate {
  constructor(
    private readonly reflector: Reflector,
    @Inject(changesConfig.KEY) private readonly changes: ConfigType<typeof changesConfig>,
  ) {}

  canActivate(context: ExecutionContext): boolean {
    if (!this.changes.readOnly) return true;
    const request = context.switchToHttp().getRequest<Request>();
    if (request.method === 'GET' || request.method === 'HEAD') return true;
    if (this.reflector.get(WritesNothingOf, context.getHandler())?.(request) !== true)
      throw new ApiError('read_only');
    return true;
  }
}
