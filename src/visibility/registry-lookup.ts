import { setTimeout as pause } from 'node:timers/promises';
import { Inject, Injectable } from '@nestjs/common';
import type { ConfigType } from '@nestjs/config';
import type { NextFunction, Request, Response } from 'express';
import { LRUCache } from 'lru-cache';
import { CallersWithoutToken } from '../auth/auth.guard.js';
import { matchingKey } from '../auth/bearer-token.js';
import type { Caller } from '../auth/caller.js';
import type { Claims } from '../claims/claims.js';
import { authenticationConfig } from '../config/slices.js';
import { ApiError } from '../http/errors.js';
import { isStorable, type StorableText } from '../validation/storable-text.js';
import { type RegistryState, ViewsQueries } from './views.queries.js';

/** Limit on cached registries, in characters of their claims, keys and revisions. */
const MAX_CACHED_CHARACTERS = 16 * 1_024 * 1_024;

/** Maximum wait for a running query, whose connection may be hanging. */
const PATIENCE_MS = 2_000;

/**
 * Reads registries with the revisions of their sources, and keeps the last state of each. Requests for a registry that arrive
 * during a query share the next one. It starts after all of them have arrived, so no result is older than its request.
 */
@Injectable()
export class RegistryLookup {
  /** The last query of each registry. */
  private readonly running = new Map<string, Promise<unknown>>();
  /** The query that begins when the last one ends. */
  private readonly next = new Map<string, Promise<RegistryState | undefined>>();
  private readonly states = new LRUCache<string, RegistryState>({
    maxSize: MAX_CACHED_CHARACTERS,
    sizeCalculation: ({ size, revisions }) => 500 + size + 3 * revisions.length,
  });

  constructor(private readonly queries: ViewsQueries) {}

  async find(name: string): Promise<RegistryState | undefined> {
    if (!isStorable(name)) return undefined;
    const next = this.next.get(name) ?? this.readNext(name);
    this.next.set(name, next);
    return next;
  }

  /** Returns the registry as last read; it may have changed or been deleted since. */
  cached(name: string): RegistryState | undefined {
    return this.states.get(name);
  }

  private async readNext(name: StorableText): Promise<RegistryState | undefined> {
    const running = this.running.get(name);
    await (running && Promise.race([running, pause(PATIENCE_MS, undefined, { ref: false })]));
    this.next.delete(name);
    const read = this.queries.registry(name);
    const ended = read
      .catch(() => undefined)
      .then(() => {
        if (this.running.get(name) === ended) this.running.delete(name);
      });
    this.running.set(name, ended);
    const state = await read;
    if (state) this.states.set(name, state);
    else this.states.delete(name);
    return state;
  }
}

/**
 * Finds callers without a token and the claims that a registry grants them. Looks up the registry for each request, so
 * withdrawing access takes effect with the next request on every replica (reference/access). These callers have no roles
 * and no access to other registries.
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
   * @returns false for a wrong or expired key, or an unknown registry.
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

  /** Returns the registry that was read to identify this caller; undefined for a caller with a token. */
  registryOf(caller: Caller): RegistryState | undefined {
    return this.found.get(caller);
  }

  private callerOf(state: RegistryState, claims: Claims, key?: string): Caller {
    const caller: Caller = {
      subject: null,
      issuer: null,
      claims,
      identified: false,
      ...(key === undefined ? {} : { key }),
    };
    this.found.set(caller, state);
    return caller;
  }
}

/**
 * reference/access: a wrong or expired key gets the same response as an unknown registry, before method, path and token
 * are checked.
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
