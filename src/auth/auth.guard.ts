import { type CanActivate, type ExecutionContext, Injectable } from '@nestjs/common';
import { Reflector } from '@nestjs/core';
import { Authenticator } from './authenticator.js';
import type { AuthenticatedRequest } from './current-caller.js';
import { RouteAccessOf } from './route-access.js';

/** The first of the global steps: who is calling? Public routes do not ask. */
@Injectable()
export class AuthGuard implements CanActivate {
  constructor(
    private readonly reflector: Reflector,
    private readonly authenticator: Authenticator,
  ) {}

  async canActivate(context: ExecutionContext): Promise<boolean> {
    const access = this.reflector.getAllAndOverride(RouteAccessOf, [
      context.getHandler(),
      context.getClass(),
    ]);
    if (access === 'public') return true;
    const request = context.switchToHttp().getRequest<AuthenticatedRequest>();
    request.caller = await this.authenticator.identify(request);
    return true;
  }
}
