import { Injectable } from '@nestjs/common';
import type { Caller } from '../auth/caller.js';
import { OAuthInForce } from '../auth/oauth-in-force.js';
import { AccessPolicy } from '../authz/access-policy.js';
import type { Claims } from '../claims/claims.js';
import { invalidBody } from '../http/validation.pipe.js';
import { below, issue } from '../validation/value-checks.js';
import { type CallerForm, identify, type IdentifiedCaller, NoSuchCaller } from './assumed-caller.js';
import { FactsQueries } from './explain.queries.js';
import { knowsEntries, knowsRules, type Rights, rightsOf } from './knowledge.js';

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
   * @throws ApiError 400 `invalid_body` for a provider that does not exist, and for a key that no registry of the asker has.
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
