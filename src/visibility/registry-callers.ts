import { Inject, Injectable } from '@nestjs/common';
import type { ConfigType } from '@nestjs/config';
import type { NextFunction, Request, Response } from 'express';
import { CallersWithoutToken } from '../auth/auth.guard.js';
import { matchingKey } from '../auth/bearer-token.js';
import type { Caller } from '../auth/caller.js';
import type { Claims } from '../claims/claims.js';
import { authenticationConfig } from '../config/slices.js';
import { ApiError } from '../http/errors.js';
import { RegistryLookup } from './registry-lookup.js';
import type { RegistryState } from './views.queries.js';

/**
 * Callers without a token, with the claims that the registry grants them. The registry is looked up for each request, so a
 * withdrawal applies from the next one on every replica (contract §6.1). These callers have no role and exist in this registry only.
 */
@Injectable()
export class RegistryCallers extends CallersWithoutToken {
  private readonly admitted = new WeakMap<Request, Caller>();
  private readonly found = new WeakMap<Caller, RegistryState>();
  private readonly requiresTokens: boolean;

  constructor(
    private readonly lookup: RegistryLookup,
    @Inject(authenticationConfig.KEY) { oauth }: ConfigType<typeof authenticationConfig>,
  ) {
    super();
    this.requiresTokens = oauth !== null;
  }

  /**
   * Admits a request that carries a registry key.
   *
   * @returns false for a wrong or expired key, or a registry that does not exist.
   */
  async admit(request: Request, { registry, key }: { registry: string; key: string }): Promise<boolean> {
    const state = await this.lookup.find(registry);
    const match = matchingKey(state?.keys ?? [], key);
    if (!this.requiresTokens || !state || !match) return false;
    this.admitted.set(request, this.callerOf(state, match.claims, match.name));
    return true;
  }

  async find(request: Request): Promise<Caller | null> {
    if (!this.requiresTokens) return null;
    const admitted = this.admitted.get(request);
    if (admitted) return admitted;
    const state = await this.lookup.find(String(request.params['registry']));
    return state?.anonymousClaims ? this.callerOf(state, state.anonymousClaims) : null;
  }

  /** The registry as read when this caller was found; undefined for a caller with a token. */
  registryOf(caller: Caller): RegistryState | undefined {
    return this.found.get(caller);
  }

  private callerOf(state: RegistryState, claims: Claims, key?: string): Caller {
    const caller: Caller = {
      subject: null,
      claims,
      identified: false,
      ...(key === undefined ? {} : { key }),
    };
    this.found.set(caller, state);
    return caller;
  }
}

/**
 * contract §6.1: a wrong or expired key is answered like an unknown registry, before method, path and token are looked at.
 */
export function admitKeys(
  callers: RegistryCallers,
): (request: Request, response: Response, next: NextFunction) => void {
  return (request, _response, next) => {
    const { registryKey } = request;
    if (!registryKey) {
      next();
      return;
    }
    callers.admit(request, registryKey).then(
      (isAdmitted) => next(isAdmitted ? undefined : new ApiError('registry_not_found')),
      (error: unknown) => next(error),
    );
  };
}
