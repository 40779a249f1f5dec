import { type CanActivate, type ExecutionContext, Injectable } from '@nestjs/common';
import { Reflector } from '@nestjs/core';
import type { Request } from 'express';
import { Authenticator } from './authenticator.js';
import { sentToken } from './bearer-token.js';
import type { AuthenticatedRequest, Caller } from './caller.js';
import { IsRegistryRoute, ReadByPost, RouteAccessOf } from './route.js';

/** Identifies callers without a token in registries that allow them (contract §6.1). */
export abstract class CallersWithoutToken {
  /**
   * @param request A read of the registry at `:registry`.
   * @returns null when the registry requires a token.
   */
  abstract find(request: Request): Promise<Caller | null>;
}

const READS: ReadonlySet<string> = new Set(['GET', 'HEAD']);

/** The first global guard: puts the caller on the request. Public routes skip it. */
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
    const has = (decorator: typeof ReadByPost) =>
      this.reflector.getAllAndOverride(decorator, route) !== undefined;
    const isRead = (READS.has(request.method) || has(ReadByPost)) && has(IsRegistryRoute);
    // A token in the request always decides, even an invalid one (contract §6.1).
    const mayBeTokenless = isRead && sentToken(request.rawHeaders).kind === 'none';
    const caller = mayBeTokenless ? this.identifyWithoutToken(request) : this.authenticator.identify(request);
    // Most tokens are cached: answer without a promise then.
    if (!(caller instanceof Promise)) return admit(request, caller);
    return caller.then((found) => admit(request, found));
  }

  private async identifyWithoutToken(request: Request): Promise<Caller> {
    return (await this.withoutToken.find(request)) ?? this.authenticator.identify(request);
  }
}

function admit(request: AuthenticatedRequest, caller: Caller): true {
  request.caller = caller;
  return true;
}
