import { timingSafeEqual } from 'node:crypto';
import { Injectable } from '@nestjs/common';
import type { Request } from 'express';
import { Authenticator, CallersWithoutToken } from '../auth/auth.guard.js';
import type { Caller } from '../auth/caller.js';
import type { Claims } from '../claims/claims.js';
import { isExpired, isKey, keyDigest, type RegistryKey } from '../config/registry-keys.js';
import { RegistryLookup, type RegistryState } from './registry-lookup.queries.js';

/**
 * Finds callers without a token and the claims that a registry grants them. Looks up the registry for each request, so
 * withdrawing access takes effect with the next request on every replica (reference/access). These callers have no roles
 * and no access to other registries.
 */
@Injectable()
export class OpenRegistryCallers extends CallersWithoutToken {
  private readonly admitted = new WeakMap<Request, Caller>();
  private readonly found = new WeakMap<Caller, RegistryState>();

  constructor(
    private readonly lookup: RegistryLookup,
    private readonly authenticator: Authenticator,
  ) {
    super();
  }

  /**
   * Admits a request that carries a registry key.
   *
   * @returns false for a wrong or expired key, or an unknown registry.
   */
  async admit(request: Request, { registry, key }: { registry: string; key: string }): Promise<boolean> {
    const state = await this.lookup.find(registry);
    const match = matchingKey(state?.keys ?? [], key);
    if (!this.authenticator.readsTokens || !state || !match) return false;
    this.admitted.set(request, this.callerOf(state, match.claims, match.name));
    return true;
  }

  async find(request: Request): Promise<Caller | null> {
    if (!this.authenticator.readsTokens) return null;
    if (request.registryKey) return this.withKey(request, request.registryKey);
    const state = await this.lookup.find(String(request.params['registry']));
    return state?.anonymousClaims ? this.callerOf(state, state.anonymousClaims) : null;
  }

  // A long response identifies its caller again: the key may have expired, or may have been withdrawn.
  private async withKey(request: Request, key: NonNullable<Request['registryKey']>): Promise<Caller | null> {
    if (!this.admitted.has(request)) await this.admit(request, key);
    const caller = this.admitted.get(request) ?? null;
    this.admitted.delete(request);
    return caller;
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
 * Finds the unexpired registry key that was sent instead of a token (reference/access). Compares all keys in constant time, so
 * timing reveals nothing about the keys.
 */
function matchingKey(keys: readonly RegistryKey[], sent: string): RegistryKey | undefined {
  const digest = Buffer.from(keyDigest(sent));
  const now = Date.now();
  let matching: RegistryKey | undefined;
  for (const key of keys) {
    const expected = Buffer.from(key.digest);
    if (expected.length === digest.length && timingSafeEqual(expected, digest) && !isExpired(key, now))
      matching = key;
  }
  return isKey(sent) ? matching : undefined;
}
