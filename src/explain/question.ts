import type { Caller, Client } from '../auth/caller.js';
import type { AccessPolicy } from '../authz/access-policy.js';
import type { Claims } from '../claims/claims.js';
import { ApiError } from '../http/errors.js';
import { MANAGED_KIND } from '../source-kinds/kinds.js';
import type { AskedEntry, RegistryFacts, SourceFacts } from './explain.queries.js';
import { knowsEntries, knowsEntry, knowsRegistry, type Rights } from './knowledge.js';
import { type Answer, answerOf, type ExplainedMissing, type Step } from './steps.js';

export const ACTIONS = ['see', 'manage', 'publish'] as const;
export type Action = (typeof ACTIONS)[number];

/** What is asked: how a request about a registry, or an entry of it, is answered. */
export interface Question {
  readonly registry: string;
  readonly entry?: AskedEntry;
  readonly action?: Action;
  /** Of what would be published. */
  readonly claims?: Claims;
}

/** Who asks, and about whom. */
export interface Asking {
  readonly asker: Caller;
  readonly rights: Rights;
  /** The asker, or a caller with other claims. */
  readonly subject: Caller;
  readonly isAssumed: boolean;
  readonly client: Client;
}

/** How the request of the subject is answered, as far as the asker may know. */
export interface Explained {
  readonly answer: Answer;
  readonly steps: readonly Step[];
  /** The least the subject would have to hold in addition. */
  readonly missing?: readonly ExplainedMissing[];
  readonly hints?: readonly string[];
}

/** contract §10: a caller who holds these claims, as if by a token. */
export function assumedCaller(claims: Readonly<Record<string, unknown>>): Caller {
  const { sub } = claims;
  return { subject: typeof sub === 'string' ? sub : null, claims, identified: true };
}

/**
 * Runs a part of a request as it is always run.
 *
 * @returns its refusal; undefined where it has none.
 * @throws what is no refusal of the caller: a limit, or a fault.
 */
export async function refusalOf(part: () => unknown): Promise<Answer | undefined> {
  try {
    await part();
    return undefined;
  } catch (error) {
    if (!(error instanceof ApiError) || error.status === 429 || error.status === 503 || error.status === 500)
      throw error;
    return answerOf(error);
  }
}

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
