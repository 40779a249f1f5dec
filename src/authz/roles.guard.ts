import { type CanActivate, type ExecutionContext, Injectable } from '@nestjs/common';
import { Reflector } from '@nestjs/core';
import { type Caller, callerOf } from '../auth/caller.js';
import { ROLES, type RouteAccess, RouteAccessOf } from '../auth/route.js';
import { ApiError } from '../http/errors.js';
import { AccessPolicy } from './access-policy.js';

/** May the caller's role use this route? A route that declares nothing is refused to everybody. */
@Injectable()
export class RolesGuard implements CanActivate {
  constructor(
    private readonly reflector: Reflector,
    private readonly policy: AccessPolicy,
  ) {}

  canActivate(context: ExecutionContext): boolean {
    const access = this.reflector.getAllAndOverride(RouteAccessOf, [
      context.getHandler(),
      context.getClass(),
    ]);
    if (access === undefined) throw new ApiError('access_undeclared');
    if (access === 'public' || access === 'caller') return true;
    const caller = callerOf(context);
    if (!this.may(caller, access)) throw new ApiError('role_required');
    return true;
  }

  private may(caller: Caller, access: Exclude<RouteAccess, 'public' | 'caller'>): boolean {
    if (access === 'registryListing') return this.policy.mayListRegistries(caller);
    if (access === 'anyRole') return ROLES.some((role) => this.policy.mayAct(caller, role));
    return this.policy.mayAct(caller, access.role);
  }
}
