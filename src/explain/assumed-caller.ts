import { Injectable } from '@nestjs/common';
import { isPublicPath } from '../auth/auth.guard.js';
import { type Caller, UNIDENTIFIED_CALLER } from '../auth/caller.js';
import { ClaimsIncomplete } from '../auth/claim-mapping.js';
import { BlockedCallers, OAuthInForce } from '../auth/oauth-in-force.js';
import { NoSubject, TokenCallers } from '../auth/token-callers.js';
import { jwtRefusal } from '../auth/token-claims.js';
import { AccessPolicy } from '../authz/access-policy.js';
import type { Claims } from '../claims/claims.js';
import type { OAuthConfig, ProviderConfig, RegistryConfig } from '../config/config.js';
import { isExpired } from '../config/registry-keys.js';
import type { ErrorCode } from '../http/errors.js';
import { invalidBody } from '../http/validation.pipe.js';
import { below, issue, type Path } from '../validation/value-checks.js';
import type { CallerMembers } from './explain.dto.js';
import { FactsQueries } from './explain.queries.js';
import { knowsEntries, knowsRules, type Rights, rightsOf } from './knowledge.js';
import type { StepOutcome } from './outcomes.js';
import type { Step } from './steps.js';

type Held = Readonly<Record<string, unknown>>;

/** The caller whom a question is about (reference/explain): exactly one member is present. */
export type CallerForm = Readonly<CallerMembers>;

/** What identifies the caller. */
export interface Identifying {
  /** Null in anonymous mode. */
  readonly oauth: OAuthConfig | null;
  /** Name of the registry that the request reads; null for other requests. */
  readonly reads: string | null;
  /** The callers that the registry admits without a token; null if they are hidden from the asker. */
  readonly opening: Pick<RegistryConfig, 'anonymousClaims' | 'keys'> | null;
  /** The outcome of the step `token` for a caller without a token whom the registry does not admit. */
  readonly otherwise: StepOutcome;
  /** Whether any registry that the asker may know about has a key with this name. */
  readonly hasKey: (name: string) => boolean | Promise<boolean>;
  /** Whether the asker may know the names of the providers. */
  readonly knowsProviders: boolean;
}

export interface IdentifiedCaller {
  /** Undefined if the request is refused without looking at claims. */
  readonly caller: Caller | undefined;
  /** This step also refuses a blocked caller. */
  readonly step: Step;
  /** The token's claims before the mapping, and the provider. */
  readonly token?: { readonly claims: Held; readonly provider: ProviderConfig };
}

/** A question about a provider or a key that does not exist. */
export class NoSuchCaller extends Error {
  override readonly name = 'NoSuchCaller';

  /** @param path the member of the CallerForm. */
  constructor(
    readonly path: Path,
    message: string,
  ) {
    super(message);
  }
}

/**
 * Identifies the caller of a question as the server identifies the sender of a request (reference/access, reference/authentication, reference/explain).
 *
 * @throws NoSuchCaller
 */
export async function identify(form: CallerForm, by: Identifying): Promise<IdentifiedCaller> {
  if (form.token) return ofToken(form.token, by);
  if (form.key !== undefined) return withKey(form.key, by);
  if (form.claims) return admitted(callerWith(form.claims), by);
  return withoutToken(by);
}

function callerWith(claims: Held): Caller {
  const { iss, sub } = claims;
  return {
    subject: typeof sub === 'string' ? sub : null,
    issuer: typeof iss === 'string' ? iss : null,
    claims,
    identified: true,
  };
}

async function ofToken(
  { provider: name, claims }: NonNullable<CallerForm['token']>,
  by: Identifying,
): Promise<IdentifiedCaller> {
  const providers = by.oauth?.providers ?? [];
  const provider = providers.find((one) => one.name === name);
  if (!provider) {
    const names = providers.map((one) => one.name).join(', ');
    throw new NoSuchCaller(
      ['token', 'provider'],
      by.knowsProviders && names !== '' ? `must be one of ${names}` : 'is not the name of a provider',
    );
  }
  const { issuerUrl: iss, audience: aud, groups } = provider;
  const whole = { iss, ...claims };
  const token = { claims: whole, provider };
  // Questions may be about tokens that have since expired, and a list of claims may omit claims that every token has.
  const refused = jwtRefusal({ aud, ...whole, exp: 1, nbf: undefined }, provider, 0);
  if (refused) return { ...refusedAs('token_invalid', refused.reason), token };
  const fetcher = groups && { groupsOf: refuseToFetch };
  try {
    const { caller } = await new TokenCallers(provider, fetcher ?? null).callerOf('', whole, '');
    return { ...admitted(caller, by), token };
  } catch (error) {
    if (error instanceof NoSubject) return { ...refusedAs('no_subject', error.message), token };
    if (error instanceof ClaimsIncomplete) return { ...refusedAs('claims_incomplete', error.message), token };
    throw error;
  }
}

// Fetching groups requires the token itself.
function refuseToFetch(): never {
  throw new ClaimsIncomplete(
    'the token omits its groups, which the server fetches: list them in groups, without _claim_names and hasgroups',
  );
}

function admitted(caller: Caller, { oauth }: Identifying): IdentifiedCaller {
  const blocked = new BlockedCallers(oauth?.blocked);
  return blocked.has(caller)
    ? { caller, step: refusedAs('caller_blocked').step }
    : { caller, step: { step: 'token', outcome: 'passed' } };
}

function withoutToken({ oauth, reads, opening, otherwise }: Identifying): IdentifiedCaller {
  if (!oauth)
    return { caller: UNIDENTIFIED_CALLER, step: { step: 'token', outcome: 'skipped', because: 'mode' } };
  const claims = opening?.anonymousClaims;
  if (claims) return { caller: { ...UNIDENTIFIED_CALLER, claims }, step: passedAs('anonymous') };
  if (
    reads !== null &&
    isPublicPath(`/registry/${encodeURIComponent(reads)}/v0.1/servers`, oauth.publicPaths)
  )
    return { caller: UNIDENTIFIED_CALLER, step: passedAs('publicPaths') };
  return refusedAs('token_missing', undefined, otherwise);
}

async function withKey(
  name: string,
  { oauth, reads, opening, otherwise, hasKey }: Identifying,
): Promise<IdentifiedCaller> {
  const key = opening?.keys.find((one) => one.name === name);
  if (!key && !(await hasKey(name))) throw new NoSuchCaller(['key'], 'is not the name of a registry key');
  if (reads === null) return refusedAs('token_missing');
  if (!oauth || !key) return refusedAs('registry_not_found', undefined, otherwise);
  if (isExpired(key, Date.now())) return refusedAs('registry_not_found', 'the key has expired');
  return { caller: { ...UNIDENTIFIED_CALLER, claims: key.claims, key: name }, step: passedAs('key') };
}

function passedAs(because: string): Step {
  return { step: 'token', outcome: 'passed', because };
}

function refusedAs(code: ErrorCode, because?: string, outcome: StepOutcome = 'refused'): IdentifiedCaller {
  return { caller: undefined, step: { step: 'token', outcome, code, ...(because ? { because } : {}) } };
}

/** Identifies the callers whom questions are about, as far as the asker may know (reference/explain). */
@Injectable()
export class AssumedCallers {
  constructor(
    private readonly facts: FactsQueries,
    private readonly policy: AccessPolicy,
    private readonly oauth: OAuthInForce,
  ) {}

  /**
   * @param reads name of the registry that the request reads; null for other requests.
   * @throws ApiError 400 `invalid_body` for a provider that does not exist, and for a key that none of the asker's
   *   registries has.
   */
  async identify(asker: Caller, form: CallerForm, reads: string | null): Promise<IdentifiedCaller> {
    const rights = rightsOf(this.policy, asker);
    const needsRegistry = reads !== null && (form.anonymous === true || form.key !== undefined);
    const facts = needsRegistry ? await this.facts.ofRegistry(reads) : undefined;
    const opening = facts && this.manages(asker, rights, facts.claims) ? facts : null;
    try {
      const { caller, ...identified } = await identify(form, {
        oauth: this.oauth.settings,
        reads,
        opening,
        otherwise: !needsRegistry || opening ? 'refused' : rights.superAdmin ? 'absent' : 'unknown_to_you',
        hasKey: async (name) =>
          (await this.facts.claimsWithKey(name)).some((claims) => this.manages(asker, rights, claims)),
        knowsProviders: knowsRules(rights),
      });
      return { ...identified, caller: caller && { ...caller, assumedBy: asker } };
    } catch (error) {
      if (!(error instanceof NoSuchCaller)) throw error;
      throw invalidBody(below(['as', ...error.path], issue(error.message)));
    }
  }

  private manages(asker: Caller, rights: Rights, claims: Claims): boolean {
    return knowsEntries(rights, { registry: this.policy.mayReach(asker, claims) });
  }
}
