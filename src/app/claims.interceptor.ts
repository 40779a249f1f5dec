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
import { checkBody } from '../http/body.js';
import type { RegistryAccess, View } from '../views/view.js';

/** Consumer routes: `:registry` must exist and let the caller in, and the handler gets their entrance. */
export const RegistryRoute = Reflector.createDecorator<true>();

/** What an admin route does to the source, registry or entry it names as `:name`. */
export interface ResourceAccess {
  readonly noun: 'source' | 'registry' | 'entry';
  /** `change` needs one that is not read-only; `put` also goes on when there is none. */
  readonly to: 'read' | 'change' | 'put';
}

/** Admin routes: what `:name` says must be there for this caller, before the body is looked at. */
export const ResourceRoute = Reflector.createDecorator<ResourceAccess>();

/** Knows the registries. Answers 404 for one that is not there, 403 for one whose gate the caller does not pass. */
export abstract class RegistryGate {
  abstract enter(caller: Caller, registryName: string): Promise<View>;
}

/** What the path of an admin route names; `type` and `version` for entries only. */
export interface ReachedPath {
  readonly name: string;
  readonly type: string;
  readonly version: string | undefined;
}

/**
 * Knows the sources, the registries or the published entries, as far as the admin API is concerned.
 *
 * @throws ApiError 404 for one that is not there or hidden from the caller, 403 for a change of one that is read-only.
 */
export abstract class Reachable {
  abstract reach(caller: Caller, path: ReachedPath, to: ResourceAccess['to']): Promise<void>;
}
export abstract class ReachableSources extends Reachable {}
export abstract class ReachableRegistries extends Reachable {}
export abstract class ReachableEntries extends Reachable {}

interface EnteredRequest extends AuthenticatedRequest {
  entrance?: RegistryAccess;
}

/**
 * The last of the three global steps: what may this caller see behind the path they named? Only then is their body looked at
 * (contract §3).
 */
@Injectable()
export class ClaimsInterceptor implements NestInterceptor {
  private readonly reachable: Readonly<Record<ResourceAccess['noun'], Reachable>>;

  constructor(
    private readonly reflector: Reflector,
    private readonly gate: RegistryGate,
    source: ReachableSources,
    registry: ReachableRegistries,
    entry: ReachableEntries,
  ) {
    this.reachable = { source, registry, entry };
  }

  async intercept(context: ExecutionContext, next: CallHandler): Promise<Observable<unknown>> {
    const route = [context.getHandler(), context.getClass()];
    const request = context.switchToHttp().getRequest<EnteredRequest>();
    if (this.reflector.getAllAndOverride(RegistryRoute, route)) {
      const look = () => this.gate.enter(callerOf(context), String(request.params['registry']));
      request.entrance = { view: await look(), look };
    }
    const reach = this.reflector.getAllAndOverride(ResourceRoute, route);
    if (reach) {
      const { name, type, version } = request.params;
      const path = { name: String(name), type: String(type), version: version as string | undefined };
      await this.reachable[reach.noun].reach(callerOf(context), path, reach.to);
    }
    checkBody(request);
    return next.handle();
  }
}

/** The entrance the ClaimsInterceptor left; a handler without one is a fault of ours. */
export const CurrentAccess = createParamDecorator((_: unknown, context: ExecutionContext): RegistryAccess => {
  const { entrance } = context.switchToHttp().getRequest<EnteredRequest>();
  if (!entrance) throw new Error('An entrance was asked for on a route that enters no registry');
  return entrance;
});
