import { type Role, ROLES } from '../auth/caller.js';
import { type Claims, covers } from '../claims/claims.js';

/** The claims maps that grant each role; an array in one of them lists alternatives. */
export type RoleRules = Readonly<Record<Role, readonly Claims[]>>;

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
