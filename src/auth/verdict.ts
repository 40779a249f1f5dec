import type { ProviderConfig } from '../config/config.js';
import type { Caller } from './caller.js';
import { ClaimsIncomplete } from './claim-mapping.js';
import { ProviderUnavailable } from './provider-http.js';
import { ProviderLimitExceeded } from './provider-limits.js';
import { NoSubject } from './token-callers.js';
import { clientNamedIn, failedCheck, type Refusal, shownClaim, type UnverifiedJwt } from './token-claims.js';

/** Why one provider did not accept a token, for the log and the audit trail. */
export interface ProviderAttempt extends Refusal {
  readonly provider: string;
  readonly method: 'jwt' | 'introspection';
  /** The check that failed, in one word. */
  readonly check: string;
}

/** The holder that a refused token claims to have. Not verified. */
interface ClaimedOrigin {
  readonly issuer?: string;
  readonly client?: string;
}

export type TokenVerdict =
  | {
      readonly kind: 'accepted';
      readonly caller: Caller;
      readonly provider: Pick<ProviderConfig, 'name' | 'issuerUrl'>;
    }
  | {
      /**
       * - `no_subject`: the token is valid, but has neither a subject nor a client.
       * - `incomplete`: the token is valid, but its claims are incomplete.
       * - `unavailable`: at least one provider that might accept the token is unavailable.
       * - `limited`: at least one provider was skipped, because the client has too many lookups in progress.
       */
      readonly kind: 'refused' | 'no_subject' | 'incomplete' | 'unavailable' | 'limited';
      readonly attempts: readonly ProviderAttempt[];
      readonly claimed: ClaimedOrigin;
    };

export type Accepted = Extract<TokenVerdict, { kind: 'accepted' }>;
export type NotAccepted = Exclude<TokenVerdict, Accepted>;

/** One method by which one provider might accept a token. */
export interface TokenCheck {
  readonly provider: ProviderConfig;
  readonly method: ProviderAttempt['method'];
  /** Why the token is refused without verifying it or sending a request; null if it must be checked. */
  readonly refusal: Refusal | null;
  /** @throws ProviderUnavailable, ProviderLimitExceeded, NoSubject, ClaimsIncomplete */
  readonly run: () => Promise<Caller | Refusal>;
}

export interface CheckedToken {
  readonly check: TokenCheck;
  readonly result: Caller | Refusal | Unverified;
}

type Unverified = ProviderUnavailable | ProviderLimitExceeded | NoSubject | ClaimsIncomplete;

/** Runs one check. An error that does not settle whether the token is valid becomes the result. */
export async function runCheck(check: TokenCheck): Promise<CheckedToken> {
  try {
    return { check, result: check.refusal ?? (await check.run()) };
  } catch (error) {
    if (isUnverified(error)) return { check, result: error };
    throw error;
  }
}

/** The verdict if this check accepted the token. */
export function accepted({ provider }: TokenCheck, caller: Caller): Accepted {
  return { kind: 'accepted', caller, provider };
}

/** The verdict if no check accepted the token. */
export function verdictOf(outcomes: readonly CheckedToken[], jwt: UnverifiedJwt | null): NotAccepted {
  const attempts = outcomes.flatMap(({ check: { provider, method }, result }): ProviderAttempt[] => {
    if (isCaller(result)) return [];
    const refused = result instanceof Error ? { reason: result.message } : result;
    return [{ provider: provider.name, method, check: checkOf(result, refused), ...refused }];
  });
  const kinds = outcomes.map(({ result }) => kindOf(result));
  const kind = (['unavailable', 'limited', 'incomplete', 'no_subject'] as const).find((one) =>
    kinds.includes(one),
  );
  return { kind: kind ?? 'refused', attempts, claimed: claimedOrigin(jwt) };
}

function checkOf(result: CheckedToken['result'], { reason }: Refusal): string {
  if (result instanceof ClaimsIncomplete) return 'groups';
  const isUnanswered = result instanceof ProviderUnavailable || result instanceof ProviderLimitExceeded;
  return isUnanswered ? 'provider' : failedCheck(reason);
}

function claimedOrigin(jwt: UnverifiedJwt | null): ClaimedOrigin {
  const { iss } = jwt?.payload ?? {};
  const client = clientNamedIn(jwt?.payload ?? {});
  return {
    ...(iss === undefined ? {} : { issuer: shownClaim(iss) }),
    ...(client === undefined ? {} : { client: shownClaim(client) }),
  };
}

function kindOf(result: CheckedToken['result']): NotAccepted['kind'] {
  if (result instanceof ClaimsIncomplete) return result.why;
  if (result instanceof NoSubject) return 'no_subject';
  if (result instanceof ProviderUnavailable) return 'unavailable';
  return result instanceof ProviderLimitExceeded ? 'limited' : 'refused';
}

function isUnverified(error: unknown): error is Unverified {
  return [ProviderUnavailable, ProviderLimitExceeded, NoSubject, ClaimsIncomplete].some(
    (kind) => error instanceof kind,
  );
}

export function isCaller(result: CheckedToken['result']): result is Caller {
  return 'claims' in result;
}

export function isRefusal(result: CheckedToken['result']): result is Refusal {
  return 'reason' in result;
}
