import type { Caller } from '../auth/caller.js';
import type { AccessPolicy } from '../authz/access-policy.js';
import { ApiError } from '../http/errors.js';
import type { Client } from '../http/request-context.js';
import { MANAGED_KIND } from '../source-kinds/kinds.js';
import type { ExplainBody } from './explain.dto.js';
import type { RegistryFacts, SourceFacts } from './explain.queries.js';
import { knowsEntries, knowsEntry, knowsRegistry, type Rights } from './knowledge.js';
import { type StatusAnswer, answerOf, type ExplainedMissing, type Step } from './steps.js';

/** A question about the outcome of a request to a registry or one of its entries. */
export type Question = Omit<ExplainBody, 'as'>;

/** The caller who asks, and the caller whom the question is about. */
export interface Asking {
  readonly asker: Caller;
  readonly rights: Rights;
  /** The asker, or a caller with other claims. */
  readonly subject: Caller;
  readonly isAssumed: boolean;
  readonly client: Client;
}

/** The response to the subject's request, limited to what the asker may know. */
export interface Explained {
  readonly answer: StatusAnswer;
  readonly steps: readonly Step[];
  /** The minimal set of values that would grant the subject access. */
  readonly missing?: readonly ExplainedMissing[];
  readonly hints?: readonly string[];
}

/**
 * Runs part of a request.
 *
 * @returns the refusal; undefined on success.
 * @throws errors that do not depend on the caller: 429, 500, 503.
 */
export async function refusalOf(part: () => unknown): Promise<StatusAnswer | undefined> {
  try {
    await part();
    return undefined;
  } catch (error) {
    if (!(error instanceof ApiError) || error.status === 429 || error.status === 503 || error.status === 500)
      throw error;
    return answerOf(error);
  }
}

export interface KnownRegistry {
  /** Undefined if the registry is hidden from the asker. */
  readonly facts: RegistryFacts | undefined;
  readonly knowsGate: boolean;
  readonly isWhole: boolean;
  /** The sources for which the asker may know about the entry with the requested name. */
  readonly sources: readonly SourceFacts[];
}

export const EVERYTHING_UNKNOWN: KnownRegistry = {
  facts: undefined,
  knowsGate: false,
  isWhole: false,
  sources: [],
};

/** reference/explain: explanations reveal only what the admin API would show the asker. */
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
      entry: kind === MANAGED_KIND && entry !== null && policy.mayManage(asker, entry.claims),
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
