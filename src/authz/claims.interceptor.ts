import {
  type CallHandler,
  createParamDecorator,
  type ExecutionContext,
  Injectable,
  type NestInterceptor,
} from '@nestjs/common';
import { Reflector } from '@nestjs/core';
import type { Observable } from 'rxjs';
import { callerOf, type AuthenticatedRequest } from '../auth/current-caller.js';
import type { Caller } from '../auth/caller.js';
import type { View } from './view.js';

/** Consumer routes: `:registry` must exist and let the caller in, and the handler gets the caller's view of it. */
export const EntersRegistry = Reflector.createDecorator<true>();

/** Knows the registries. Answers 404 for one that is not there, 403 for one whose gate the caller does not pass. */
export abstract class RegistryGate {
  abstract enter(caller: Caller, registryName: string): Promise<View>;
}

interface EnteredRequest extends AuthenticatedRequest {
  view?: View;
}

/** The last of the three global steps: what may this caller see behind the path they named? */
@Injectable()
export class ClaimsInterceptor implements NestInterceptor {
  constructor(
    private readonly reflector: Reflector,
    private readonly gate: RegistryGate,
  ) {}

  async intercept(context: ExecutionContext, next: CallHandler): Promise<Observable<unknown>> {
    const enters = this.reflector.getAllAndOverride(EntersRegistry, [
      context.getHandler(),
      context.getClass(),
    ]);
    if (enters) {
      const request = context.switchToHttp().getRequest<EnteredRequest>();
      request.view = await this.gate.enter(callerOf(context), String(request.params['registry']));
    }
    return next.handle();
  }
}

/** The view the ClaimsInterceptor left; a handler without one is a fault of ours. */
export const EnteredView = createParamDecorator((_: unknown, context: ExecutionContext): View => {
  const { view } = context.switchToHttp().getRequest<EnteredRequest>();
  if (!view) throw new Error('A view was asked for on a route that enters no registry');
  return view;
});
