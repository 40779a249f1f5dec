import { type CanActivate, type ExecutionContext, Injectable } from '@nestjs/common';
import { Reflector } from '@nestjs/core';
import type { Request } from 'express';
import { Authenticator } from './authenticator.js';
import { sentToken } from './bearer-token.js';
import type { AuthenticatedRequest, Caller } from './caller.js';
import { IsRegistryRoute, ReadByPost, RouteAccessOf } from './route.js';

/** Finds callers who have sent no token, where a registry is open to them (contract §6.1). */
export abstract class CallersWithoutToken {
  /**
   * @param request a read of a registry, of which it is the one at `:registry`.
   * @returns null where a token is asked for.
   */
  abstract find(request: Request): Promise<Caller | null>;
}

const READS: ReadonlySet<string> = new Set(['GET', 'HEAD']);

/** The first of the global steps: who is calling? Public routes do not ask. */
@Injectable()
export class AuthGuard implements CanActivate {
  constructor(
    private readonly reflector: Reflector,
    private readonly authenticator: Authenticator,
    private readonly withoutToken: CallersWithoutToken,
  ) {}

  canActivate(context: ExecutionContext): boolean | Promise<boolean> {
    const route = [context.getHandler(), context.getClass()];
    if (this.reflector.getAllAndOverride(RouteAccessOf, route) === 'public') return true;
    const request = context.switchToHttp().getRequest<AuthenticatedRequest>();
    const says = (decorator: typeof ReadByPost) =>
      this.reflector.getAllAndOverride(decorator, route) !== undefined;
    const isRead = (READS.has(request.method) || says(ReadByPost)) && says(IsRegistryRoute);
    // A token that is sent counts alone (contract §6.1), also one that is no good.
    const opened = isRead && sentToken(request.rawHeaders).kind === 'none';
    const caller = opened ? this.openTo(request) : this.authenticator.identify(request);
    // Most tokens are known, and a promise costs each request a turn.
    if (!(caller instanceof Promise)) return admit(request, caller);
    return caller.then((found) => admit(request, found));
  }

  private async openTo(request: Request): Promise<Caller> {
    return (await this.withoutToken.find(request)) ?? this.authenticator.identify(request);
  }
}

function admit(request: AuthenticatedRequest, caller: Caller): true {
  request.caller = caller;
  return true;
}
