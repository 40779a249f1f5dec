import type { RegistryKey } from '../config/registry-keys.js';
import { contentTag } from '../http/preconditions.js';
import type { RegistryAnswer, RegistryKeyAnswer } from './registries.responses.js';
import type { Registry } from './registry.entity.js';

/**
 * A registry as the admin API shows it (contract §7).
 *
 * @param isManager with `registryListing: readers` everybody who reads a registry may get it: which keys there are is for its managers.
 */
export function describeRegistry(registry: Registry, isManager: boolean): RegistryAnswer {
  const { anonymousClaims, publishClaims } = registry;
  const keys = isManager ? registry.keys : [];
  return {
    name: registry.name,
    sources: registry.sourceNames,
    claims: registry.shownClaims,
    ...(anonymousClaims ? { anonymous: { claims: anonymousClaims } } : {}),
    ...(keys.length > 0 ? { keys: keys.map(describeKey) } : {}),
    ...(publishClaims ? { publishClaims } : {}),
    origin: registry.origin,
    createdAt: registry.createdAt.toISOString(),
    updatedAt: registry.updatedAt.toISOString(),
  };
}

/** The ETag of a registry: of what a PUT may change. */
export function registryTag({
  sourceNames,
  shownClaims,
  anonymousClaims,
  keys,
  publishClaims,
}: Registry): string {
  return contentTag([sourceNames, shownClaims, anonymousClaims, keys, publishClaims]);
}

// Never the digest: it tells whether a guess is right.
function describeKey({ name, secretFile, claims, expires }: RegistryKey): RegistryKeyAnswer {
  return { name, secretFile, claims, ...(expires === null ? {} : { expires }) };
}

/** A registry as it is declared (contract §7), for the audit trail. */
export function declaredForm(registry: Registry): object {
  const { anonymousClaims, keys, publishClaims } = registry;
  return {
    sources: registry.sourceNames,
    claims: registry.shownClaims,
    ...(anonymousClaims ? { anonymous: { claims: anonymousClaims } } : {}),
    ...(keys.length > 0 ? { keys: keys.map(describeKey) } : {}),
    ...(publishClaims ? { publishClaims } : {}),
  };
}
