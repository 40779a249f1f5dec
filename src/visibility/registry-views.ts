import { createParamDecorator, type ExecutionContext, Injectable } from '@nestjs/common';
import { Reflector } from '@nestjs/core';
import type { Caller } from '../auth/caller.js';
import { type EnteredRegistry, type LoadedRequest, Route, type RouteDocumentation } from '../auth/route.js';
import { AccessPolicy, type Recorder } from '../authz/access-policy.js';
import type { MarketplaceConfig } from '../config/config.js';
import type { EntryType } from '../documents/entry-types.js';
import { ApiError } from '../http/errors.js';
import type { CachedJson } from '../http/json-answers.js';
import type { Client } from '../http/request-context.js';
import { isUnchanged } from './freshness.queries.js';
import { OpenRegistryCallers } from './open-registry-callers.js';
import { RegistryLookup, type RegistryState } from './registry-lookup.queries.js';
import { Partitions, ViewCache } from './partitions.js';
import type { RememberedRegistry, View } from './view.js';

abstract class Access {
  /** Makes the types nominal, so that no object literal is assignable to them. */
  declare protected readonly brand: never;

  constructor(
    readonly caller: Caller,
    readonly client: Client,
    readonly registryName: string,
    readonly entered: EnteredRegistry,
    /** The caller's view of the registry. */
    readonly view: View,
  ) {}
}

/** A caller's access to a registry, checked against the database for this request. */
class VerifiedAccess extends Access {
  readonly isVerified = true;

  constructor(
    caller: Caller,
    client: Client,
    registry: Pick<RegistryState, 'name' | 'marketplace'>,
    entered: EnteredRegistry,
    view: View,
  ) {
    super(caller, client, registry.name, entered, view);
    this.marketplace = registry.marketplace;
  }

  /** How the registry is served as a marketplace; null if it is not. */
  readonly marketplace: MarketplaceConfig | null;
}

/**
 * A caller's access to a registry, cached by this replica. It does not prove that the caller still has access: the
 * registry, its claims, sources and entries may have changed. Before responding, call `RegistryViews.verify`, or run a
 * statement that checks `remembered` in its own snapshot.
 */
class RememberedAccess extends Access {
  readonly isVerified = false;

  constructor(
    caller: Caller,
    client: Client,
    entered: EnteredRegistry,
    view: View,
    readonly remembered: RememberedRegistry,
  ) {
    super(caller, client, remembered.name, entered, view);
  }
}

// Exported as types, so that only RegistryViews can construct them.
export type { RememberedAccess, VerifiedAccess };
export type RegistryAccess = VerifiedAccess | RememberedAccess;

/** How long a response continues before the caller's access is checked again. */
const ADMITTED_MS = 1_000;

/** Checks a registry's gate, finds the caller's view, and stops readers who have lost access. */
@Injectable()
export class RegistryViews {
  private readonly cache: ViewCache;

  constructor(
    private readonly lookup: RegistryLookup,
    private readonly partitions: Partitions,
    private readonly policy: AccessPolicy,
    private readonly callers: OpenRegistryCallers,
  ) {
    this.cache = new ViewCache(policy);
  }

  /**
   * reference/access: checks the registry's gate against the database, then computes the caller's view.
   *
   * @throws ApiError 404 `registry_not_found`, 403 `registry_forbidden`.
   */
  async enter(
    caller: Caller,
    client: Client,
    registryName: string,
    record?: Recorder,
  ): Promise<VerifiedAccess> {
    const registry = await this.find(registryName);
    return this.enterFound(caller, client, registry, {}, record);
  }

  /**
   * Enters without a query if everything needed is cached; otherwise calls `enter`. Never refuses a caller based on
   * cached data.
   *
   * @throws ApiError as described for `enter`.
   */
  enterFromMemory(
    caller: Caller,
    client: Client,
    registryName: string,
  ): RememberedAccess | Promise<VerifiedAccess> {
    // Callers without a token were looked up for this request, together with their registry.
    const found = this.callers.registryOf(caller);
    if (found?.name === registryName) return this.enterFound(caller, client, found, {});
    const registry = found ? undefined : this.lookup.cached(registryName);
    if (registry && this.policy.mayReach(caller, registry.claims)) {
      const view = this.cachedView(caller, registry);
      const remembered = { name: registryName, version: registry.version };
      if (view) return new RememberedAccess(caller, client, { claims: registry.claims }, view, remembered);
    }
    return this.enter(caller, client, registryName);
  }

  /**
   * Checks an access against the current state of the database, even if it was verified before.
   *
   * @throws ApiError as described for `enter`: the registry or its claims may have changed.
   */
  async verify(access: RegistryAccess): Promise<VerifiedAccess> {
    const { caller, client, registryName, view, entered } = access;
    entered.claims = undefined;
    const registry = await this.find(registryName);
    if (!access.isVerified && isUnchanged(access, registry)) {
      entered.claims = registry.claims;
      return new VerifiedAccess(caller, client, registry, entered, view);
    }
    return this.enterFound(caller, client, registry, entered);
  }

  /**
   * Passes on a long response until the caller loses access: a client that waits, or reads slowly, must not keep
   * reading.
   *
   * @param verifiedAt when the access was verified, on the `performance.now()` clock.
   * @param verify rejects if the caller has lost access; by default, to the registry.
   */
  async *whileAdmitted(
    access: VerifiedAccess,
    chunks: AsyncIterable<Buffer>,
    verifiedAt: number,
    verify: () => Promise<unknown> = () => this.verify(access),
  ): AsyncGenerator<Buffer> {
    let checkedAt = verifiedAt;
    for await (const chunk of chunks) {
      if (performance.now() - checkedAt > ADMITTED_MS) {
        await verify();
        checkedAt = performance.now();
      }
      yield chunk;
    }
  }

  /** Returns the view of a caller without a request; null if the registry does not exist or its gate refuses them. */
  async viewOf(caller: Caller, registryName: string): Promise<View | null> {
    const registry = await this.lookup.find(registryName);
    return registry && this.policy.mayReach(caller, registry.claims) ? this.viewFor(caller, registry) : null;
  }

  /** Whether this access matches the latest state of the registry that this replica has read. */
  isLatest(access: RememberedAccess): boolean {
    const latest = this.lookup.cached(access.registryName);
    return latest !== undefined && isUnchanged(access, latest);
  }

  private async find(registryName: string): Promise<RegistryState> {
    const registry = await this.lookup.find(registryName);
    if (!registry) throw new ApiError('registry_not_found');
    return registry;
  }

  private async enterFound(
    caller: Caller,
    client: Client,
    registry: RegistryState,
    entered: EnteredRegistry,
    record?: Recorder,
  ): Promise<VerifiedAccess> {
    entered.claims = registry.claims;
    if (!this.policy.mayReach(caller, registry.claims, record))
      throw new ApiError('registry_forbidden', undefined, undefined, { refusedClaims: registry.claims });
    return new VerifiedAccess(caller, client, registry, entered, await this.viewFor(caller, registry));
  }

  private async viewFor(caller: Caller, registry: RegistryState): Promise<View> {
    return this.policy.seesAll(caller)
      ? this.cache.viewOfAll(registry)
      : this.cache.viewOf(caller, registry, await this.partitions.ofRegistry(registry));
  }

  private cachedView(caller: Caller, registry: RegistryState): View | undefined {
    if (this.policy.seesAll(caller)) return this.cache.viewOfAll(registry);
    const partitions = this.partitions.cached(registry);
    return partitions && this.cache.cached(caller, registry, partitions);
  }
}

/** A request to a CatalogRead route. The access is not in `loaded`, because other handlers read that property. */
export interface CatalogRequest extends LoadedRequest {
  catalogAccess?: RegistryAccess;
}

/** Marks a CatalogRead route for the ClaimsInterceptor. */
export const IsCatalogRead = Reflector.createDecorator();

/**
 * Declares a GET of a registry whose handler receives a RememberedAccess as its first argument, through `@CatalogAccess()`. Use it
 * only for reads through CatalogService, which verifies the access before or during the read. All other handlers get a
 * VerifiedAccess.
 */
export const CatalogRead =
  (path: string, entryType: EntryType | undefined, documentation: RouteDocumentation) =>
  <Handler extends (access: RegistryAccess, ...more: never[]) => Promise<CachedJson>>(
    target: object,
    key: string,
    handler: TypedPropertyDescriptor<Handler>,
  ): void => {
    IsCatalogRead()(target, key, handler);
    const audit = { action: 'catalog.read', entryType } as const;
    Route('GET', path, { access: 'caller', audit, loads: 'view', ...documentation })(target, key, handler);
  };

/** Injects the caller's access into a CatalogRead handler. */
export const CatalogAccess = createParamDecorator((_: unknown, context: ExecutionContext): RegistryAccess => {
  const { catalogAccess } = context.switchToHttp().getRequest<CatalogRequest>();
  if (!catalogAccess) throw new Error('The route is not declared with @CatalogRead()');
  return catalogAccess;
});
