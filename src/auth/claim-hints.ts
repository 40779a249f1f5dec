import { Logger } from '@nestjs/common';
import { isObject } from '../json/json-values.js';
import type { Caller } from './caller.js';

/** Each of them is about the configuration of a provider, and stays as it is until somebody changes that. */
const REPEAT_MS = 10 * 60_000;
const MAX_REMEMBERED = 100;
/** Refusals that other claims would have turned into something else. */
const FOR_CLAIMS: ReadonlySet<string> = new Set(['role_required', 'registry_forbidden', 'claims_not_subset']);

/**
 * What is known of tokens whose roles or groups are where no rule can see them, since rules compare claims at the top level
 * (contract §5). Keycloak nests roles; Entra ID leaves groups out of the token when there are many, and says so by
 * `_claim_names` or `hasgroups`: https://learn.microsoft.com/en-us/entra/identity-platform/access-token-claims-reference.
 */
const SHAPES: readonly { readonly shows: (claims: Caller['claims']) => boolean; readonly hint: string }[] = [
  {
    shows: ({ realm_access: realm, resource_access: resource }) => isObject(realm) || isObject(resource),
    hint:
      'The tokens hold roles nested in realm_access or resource_access, as Keycloak writes them; rules compare claims at the ' +
      'top level alone: map them with `claims` of the provider, or let it write the roles into a claim of their own',
  },
  {
    shows: ({ _claim_names: elsewhere, hasgroups }) =>
      (isObject(elsewhere) && Object.hasOwn(elsewhere, 'groups')) ||
      [true, 'true'].includes(hasgroups as never),
    hint:
      'The tokens leave the groups out because there are too many (_claim_names, hasgroups), as Entra ID does; rules see none of ' +
      'them: say where they are with `groups` of the provider, let it write only those that are assigned to this application, or use ' +
      'app roles',
  },
];

/** The hints that the claims of a refused caller give. */
export function claimHints(claims: Caller['claims']): string[] {
  return SHAPES.filter(({ shows }) => shows(claims)).map(({ hint }) => hint);
}

/** Says in the log what is known of refused tokens: once for each issuer and hint, and again after a while. */
export class ClaimHints {
  private readonly logger = new Logger('auth');
  private readonly told = new Map<string, number>();

  /** @param code of the refusal. */
  refused(caller: Caller, code: string, requestId: string): void {
    if (!caller.identified || !FOR_CLAIMS.has(code)) return;
    for (const hint of claimHints(caller.claims)) {
      const issuer = String(caller.claims['iss']);
      if (this.isDue(`${issuer} ${hint}`)) this.logger.warn({ requestId, issuer, code }, hint);
    }
  }

  private isDue(key: string): boolean {
    const now = performance.now();
    if (now - (this.told.get(key) ?? -Infinity) < REPEAT_MS) return false;
    if (this.told.size >= MAX_REMEMBERED) this.told.clear();
    this.told.set(key, now);
    return true;
  }
}
