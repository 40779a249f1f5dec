import { type Caller, ROLES } from '../auth/caller.js';
import type { AccessPolicy } from '../authz/access-policy.js';

/** The roles that somebody who asks may act in, as far as they count here. */
export interface Rights {
  readonly superAdmin: boolean;
  readonly manageSources: boolean;
  readonly manageRegistries: boolean;
  readonly manageEntries: boolean;
  /** Whether the admin API shows them the registries they reach: managers, or with `registryListing: readers` everybody. */
  readonly listsRegistries: boolean;
}

/** Which claims are covered by who asks. */
export interface Reach {
  /** Those of the registry. */
  readonly registry: boolean;
  /** Those of the source. */
  readonly source: boolean;
  /** Whether the entry is one of the managed source, and theirs to manage. */
  readonly entry: boolean;
}

export function rightsOf(policy: AccessPolicy, caller: Caller): Rights {
  const [superAdmin, manageSources, manageRegistries, manageEntries] = ROLES.map((role) =>
    policy.mayAct(caller, role),
  ) as [boolean, boolean, boolean, boolean];
  const listsRegistries = policy.mayListRegistries(caller);
  return { superAdmin, manageSources, manageRegistries, manageEntries, listsRegistries };
}

/** contract §10: may they ask about a caller with other claims than theirs? */
export function mayAssume(rights: Rights): boolean {
  return rights.superAdmin || rights.manageSources || rights.manageRegistries || rights.manageEntries;
}

/** May they know that the registry is there, its claims and the names of its sources: what `GET /v1/registries/{name}` shows? */
export function knowsRegistry(rights: Rights, { registry }: Pick<Reach, 'registry'>): boolean {
  return rights.superAdmin || (rights.listsRegistries && registry);
}

/** May they know every entry of the registry with its claims: what `GET /v1/registries/{name}/entries` shows? */
export function knowsEntries(rights: Rights, { registry }: Pick<Reach, 'registry'>): boolean {
  return rights.superAdmin || (rights.manageRegistries && registry);
}

/**
 * May they know whether a source of the registry has an entry, and with which claims? Who manages the source, or that entry,
 * knows it by the lists of those; that the registry shows it is known to whoever may enter.
 */
export function knowsEntry(rights: Rights, reach: Reach): boolean {
  if (knowsEntries(rights, reach)) return true;
  return reach.registry && (knowsSource(rights, reach) || (rights.manageEntries && reach.entry));
}

/** May they know everything of a source: what `GET /v1/sources/{name}/entries` shows? */
export function knowsSource(rights: Rights, { source }: Pick<Reach, 'source'>): boolean {
  return rights.superAdmin || (rights.manageSources && source);
}

/** May they know an entry of the managed source, whatever registry it is in: what `GET /v1/entries/{type}/{name}` shows? */
export function knowsManaged(rights: Rights, reach: Pick<Reach, 'source' | 'entry'>): boolean {
  return knowsSource(rights, reach) || (rights.manageEntries && reach.entry);
}

/** May they know the rules that grant roles? They stand in the configuration alone. */
export function knowsRules(rights: Rights): boolean {
  return rights.superAdmin;
}
