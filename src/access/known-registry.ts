import type { AccessPolicy } from '../authz/access-policy.js';
import type { RegistryFacts, SourceFacts } from './facts.queries.js';
import { knowsEntries, knowsEntry, knowsRegistry } from './knowledge.js';
import type { Asking } from './question.js';

/** What who asks may know of a registry. */
export interface KnownRegistry {
  /** Undefined where they may not know that it is there. */
  readonly facts: RegistryFacts | undefined;
  readonly knowsGate: boolean;
  /** Whether they may know of every entry of it. */
  readonly isWhole: boolean;
  /** The sources of which they may know what these have of the name. */
  readonly sources: readonly SourceFacts[];
}

export const EVERYTHING_UNKNOWN: KnownRegistry = {
  facts: undefined,
  knowsGate: false,
  isWhole: false,
  sources: [],
};

/** contract §10: who asks is told what the admin API would show them, and of the rest nothing. */
export function knownOf(
  policy: AccessPolicy,
  { asker, rights }: Pick<Asking, 'asker' | 'rights'>,
  facts: RegistryFacts,
): KnownRegistry {
  const registry = policy.mayReach(asker, facts.claims);
  const sources = facts.sources.filter(({ kind, claims, entry }) =>
    knowsEntry(rights, {
      registry,
      source: policy.mayReach(asker, claims),
      entry: kind === 'managed' && entry !== null && policy.mayManage(asker, entry.claims),
    }),
  );
  const knowsGate = knowsRegistry(rights, { registry });
  return {
    facts: knowsGate ? facts : undefined,
    knowsGate,
    isWhole: knowsEntries(rights, { registry }),
    sources,
  };
}
