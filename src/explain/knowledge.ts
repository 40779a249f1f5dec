import { type Caller, ROLES } from '../auth/caller.js';
import type { AccessPolicy } from '../authz/access-policy.js';

/** The roles of the asker. */
export interface Rights {
  readonly superAdmin: boolean;
  readonly manageSources: boolean;
  readonly manageRegistries: boolean;
  readonly manageEntries: boolean;
  /** True for registry managers, and for every caller if `registryListing` is `readers`. */
  readonly listsRegistries: boolean;
}

/** The resources whose claims the asker covers. */
export interface KnownResources {
  readonly registry: boolean;
  readonly source: boolean;
  /** True only for an entry of the managed source that the asker may manage. */
  readonly entry: boolean;
}

export function rightsOf(policy: AccessPolicy, caller: Caller): Rights {
  const [superAdmin, manageSources, manageRegistries, manageEntries] = ROLES.map((role) =>
    policy.mayAct(caller, role),
  ) as [boolean, boolean, boolean, boolean];
  const listsRegistries = policy.mayListRegistries(caller);
  return { superAdmin, manageSources, manageRegistries, manageEntries, listsRegistries };
}

/** reference/explain: whether the asker may ask about a caller with other claims. */
export function mayAssume(rights: Rights): boolean {
  return rights.superAdmin || rights.manageSources || rights.manageRegistries || rights.manageEntries;
}

/** Whether `GET /v1/registries/{name}` shows the registry to the asker. */
export function knowsRegistry(rights: Rights, { registry }: Pick<KnownResources, 'registry'>): boolean {
  return rights.superAdmin || (rights.listsRegistries && registry);
}

/** Whether `GET /v1/registries/{name}/entries` shows all entries with their claims to the asker. */
export function knowsEntries(rights: Rights, { registry }: Pick<KnownResources, 'registry'>): boolean {
  return rights.superAdmin || (rights.manageRegistries && registry);
}

/**
 * Whether the asker may know whether a source of the registry has an entry, and which claims the entry has. Managers of
 * the source or the entry may know this if they may also enter the registry.
 */
export function knowsEntry(rights: Rights, reach: KnownResources): boolean {
  if (knowsEntries(rights, reach)) return true;
  return reach.registry && (knowsSource(rights, reach) || (rights.manageEntries && reach.entry));
}

/** Whether `GET /v1/sources/{name}/entries` shows the source's entries to the asker. */
export function knowsSource(rights: Rights, { source }: Pick<KnownResources, 'source'>): boolean {
  return rights.superAdmin || (rights.manageSources && source);
}

/** Whether `GET /v1/entries/{type}/{name}` shows the managed entry to the asker. */
export function knowsManaged(rights: Rights, reach: Pick<KnownResources, 'source' | 'entry'>): boolean {
  return knowsSource(rights, reach) || (rights.manageEntries && reach.entry);
}

/** Whether the asker may know the rules that grant roles. */
export function knowsRules(rights: Rights): boolean {
  return rights.superAdmin;
}
