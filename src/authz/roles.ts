import { type Role, ROLES } from '../auth/route-access.js';
import { covers } from '../claims/claims.js';

/** A claims map that grants a role; an array in it lists alternatives. */
export type RoleRule = Readonly<Record<string, string | readonly string[]>>;
export type RoleRules = Readonly<Record<Role, readonly RoleRule[]>>;

/**
 * The roles a token's claims grant (spec §2.3): any of a role's maps, and within a map all of its members. An empty map
 * grants nothing; the configuration refuses it, and so does this.
 *
 * @returns in the order of ROLES.
 */
export function resolveRoles(held: Readonly<Record<string, unknown>>, rules: RoleRules): readonly Role[] {
  return ROLES.filter((role) =>
    rules[role].some((rule) => Object.keys(rule).length > 0 && covers(held, rule, 'any')),
  );
}
