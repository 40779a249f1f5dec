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
 * Callers without a token, by what the registry says now that they hold: it is looked up with each request, so what is taken
 * back is gone with the next one, on every replica (contract §6.1). They have no role, and are nobody outside of this registry.
 */
@Injectable()
export class RegistryCallers extends CallersWithoutToken {
  private readonly admitted = new WeakMap<Request, Caller>();
  private readonly found = new WeakMap<Caller, RegistryState>();
  private readonly asksForTokens: boolean;

  constructor(
    private readonly lookup: RegistryLookup,
    @Inject(authenticationConfig.KEY) { oauth }: ConfigType<typeof authenticationConfig>,
  ) {
    super();
    this.asksForTokens = oauth !== null;
  }

  /**
   * Lets a request with a key go on as one of its registry.
   *
   * @returns false for a key that is wrong or has expired, of whatever registry, also one that does not exist.
   */
  async admit(request: Request, { registry, key }: { registry: string; key: string }): Promise<boolean> {
    const state = await this.lookup.find(registry);
    const known = matchingKey(state?.keys ?? [], key);
    if (!this.asksForTokens || !state || !known) return false;
    this.admitted.set(request, this.callerOf(state, known.claims, known.name));
    return true;
  }

  async find(request: Request): Promise<Caller | null> {
    if (!this.asksForTokens) return null;
    const admitted = this.admitted.get(request);
    if (admitted) return admitted;
    const state = await this.lookup.find(String(request.params['registry']));
    return state?.anonymousClaims ? this.callerOf(state, state.anonymousClaims) : null;
  }

  /** The registry as it was when this caller was found; undefined for one with a token. */
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
 * contract §6.1: a request with a key that is wrong, or has expired, is answered as one of a registry that does not exist,
 * whatever its method, the rest of its path and its token: before anything looks at them.
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
