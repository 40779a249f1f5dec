import { hash } from 'node:crypto';
import { type Caller, type Role, ROLES } from '../auth/caller.js';
import { claimsUnder } from '../auth/token-callers.js';
import { type ArrayValues, type Claims, covers, findMissing, implies } from '../claims/claims.js';
import type { AuthzConfig, ProviderConfig } from '../config/config.js';
import { ApiError } from '../http/errors.js';

/** The reason for a decision that compared no claims. */
type Because = 'mode' | 'superAdmin' | 'unlabeled: allow' | 'unlabeled: deny' | 'unlabeled';

/** A decision of the policy, with its reasons (reference/explain). */
export interface Judgement {
  readonly allowed: boolean;
  /** The required claims. */
  readonly required?: Claims;
  /** How arrays in `required` are read. */
  readonly arrays?: ArrayValues;
  /** The rules of a role; any one of them grants it. */
  readonly rules?: readonly Claims[];
  readonly because?: Because;
}

/** Receives each decision from the code that makes it. Only explanations pass a recorder. */
export type Recorder = (judgement: Judgement) => void;

/** The claim maps that grant each role. An array in a map lists alternatives. */
export type RoleRules = Readonly<Record<Role, readonly Claims[]>>;

/**
 * Returns the roles that a token's claims grant (reference/access), in the order of ROLES. Matching any one of a role's maps
 * grants the role; a map matches if all its members match. An empty map grants nothing, and the configuration rejects
 * it.
 */
export function resolveRoles(held: Readonly<Record<string, unknown>>, rules: RoleRules): readonly Role[] {
  return ROLES.filter((role) =>
    rules[role].some((rule) => Object.keys(rule).length > 0 && covers(held, rule, 'any')),
  );
}

/** Returns the rules that these claims match, without the alternatives that the claims do not contain. */
function matchedRules(held: Readonly<Record<string, unknown>>, rules: RoleRules): RoleRules {
  const heldPart = (rule: Claims): Claims =>
    Object.fromEntries(
      Object.entries(rule).map(([key, wanted]) => [
        key,
        [wanted].flat().filter((value) => covers(held, { [key]: value }, 'any')),
      ]),
    );
  const matched = (role: Role) => rules[role].filter((rule) => covers(held, rule, 'any')).map(heldPart);
  return Object.fromEntries(ROLES.map((role) => [role, matched(role)])) as Record<Role, Claims[]>;
}

/** Maximum number of missing claims listed in a refusal. */
const MAX_MISSING = 20;
const MAX_MISSING_LENGTH = 200;

/** Makes all access decisions for one mode (reference/access). A recorder never changes a decision. */
export abstract class AccessPolicy {
  /** Changes whenever decisions may have changed, so that caches are invalidated. */
  get version(): number {
    return 0;
  }

  /** The caller's roles, in the order of ROLES. */
  abstract rolesOf(caller: Caller): readonly Role[];
  /** Whether the caller may act in this role. */
  abstract mayAct(caller: Caller, role: Role, record?: Recorder): boolean;
  /** Whether the caller may list the registries through the admin API. */
  abstract mayListRegistries(caller: Caller): boolean;
  /**
   * Whether the caller may use a registry with these claims, or see a source or registry with them through the admin
   * API.
   */
  abstract mayReach(caller: Caller, required: Claims, record?: Recorder): boolean;
  /**
   * Whether a source that the caller configures may read files and secrets that require these claims
   * (reference/access).
   */
  abstract mayRead(caller: Caller, required: Claims): boolean;
  /** Whether all callers who see a resource with these claims also cover `required` (reference/access). */
  abstract keepsWithin(claims: Claims, required: Claims): boolean;
  /** Whether the caller sees an entry with these claims through the consumer API. */
  abstract maySee(caller: Caller, required: Claims, record?: Recorder): boolean;
  /** Whether the caller sees every entry, and reaches every source and registry, regardless of their claims. */
  abstract seesAll(caller: Caller): boolean;
  /**
   * Checks that the caller may give a source or registry these claims.
   *
   * @throws ApiError 400 `claims_required`, `claims_not_subset`.
   */
  abstract checkGrant(caller: Caller, claims: Claims): void;
  /**
   * Checks that the caller may grant these claims to callers without a token, or to publishers through a registry
   * (reference/access).
   *
   * @throws ApiError 400 `claims_not_subset`.
   */
  abstract checkDelegation(caller: Caller, claims: Claims): void;
  /** Whether the caller may see and manage an entry of the managed source through the admin API. */
  abstract mayManage(caller: Caller, required: Claims, record?: Recorder): boolean;
  /**
   * Checks that the caller may publish an entry with these claims (reference/publishing).
   *
   * @throws ApiError 400 `claims_required`, `claims_not_subset`.
   */
  abstract checkPublish(caller: Caller, claims: Claims, record?: Recorder): void;
  /**
   * Checks that the caller may replace the claims of an entry that they manage with these (reference/publishing). `{}`
   * clears the claims.
   *
   * @throws ApiError 400 `claims_required`, `claims_not_subset`.
   */
  abstract checkRelabel(caller: Caller, claims: Claims): void;
  /** Whether the rules for reserved names (`managed.names`, reference/publishing) apply to the caller. */
  abstract isBoundByNames(caller: Caller): boolean;
  /** Whether a later version published without claims inherits the claims of the first version (reference/access). */
  abstract inheritsClaims(caller: Caller): boolean;
  /**
   * A cache key for everything `maySee` depends on: callers with equal keys see the same entries.
   *
   * @param isRequired returns whether any required claims contain this key.
   */
  abstract visibilityKey(caller: Caller, isRequired: (key: string) => boolean): string;
}

/** The modes without `authz`, in which claims neither grant nor restrict access. */
abstract class OpenPolicy extends AccessPolicy {
  mayReach(_caller: Caller, required: Claims, record?: Recorder): boolean {
    record?.({ allowed: true, required, because: 'mode' });
    return true;
  }

  mayRead(): boolean {
    return true;
  }

  // Even these modes check it, because sources remain stored when the mode changes.
  keepsWithin(claims: Claims, required: Claims): boolean {
    return implies(claims, required, 'all');
  }

  maySee(_caller: Caller, required: Claims, record?: Recorder): boolean {
    record?.({ allowed: true, required, because: 'mode' });
    return true;
  }

  seesAll(): boolean {
    return true;
  }

  checkGrant(): void {
    // Admin scoping is off.
  }

  checkDelegation(): void {
    // Admin scoping is off.
  }

  mayManage(_caller: Caller, required: Claims, record?: Recorder): boolean {
    record?.({ allowed: true, required, because: 'mode' });
    return true;
  }

  inheritsClaims(): boolean {
    return false;
  }

  visibilityKey(): string {
    return '';
  }
}

/** reference/access: callers are not authenticated, and every check is bypassed. */
export class AnonymousPolicy extends OpenPolicy {
  rolesOf(): readonly Role[] {
    return [];
  }

  mayAct(_caller: Caller, _role: Role, record?: Recorder): boolean {
    record?.({ allowed: true, because: 'mode' });
    return true;
  }

  mayListRegistries(): boolean {
    return true;
  }

  checkPublish(_caller: Caller, claims: Claims, record?: Recorder): void {
    record?.({ allowed: true, required: claims, because: 'mode' });
  }

  checkRelabel(): void {
    // Everything is allowed.
  }

  isBoundByNames(): boolean {
    return false;
  }
}

/** reference/access: every caller with a valid token has every role. */
export class AuthOnlyPolicy extends OpenPolicy {
  rolesOf(caller: Caller): readonly Role[] {
    return caller.identified ? ROLES : [];
  }

  mayAct(caller: Caller, _role: Role, record?: Recorder): boolean {
    record?.({ allowed: caller.identified, because: 'mode' });
    return caller.identified;
  }

  mayListRegistries(caller: Caller): boolean {
    return caller.identified;
  }

  // reference/access: the publishing rules apply even though every caller has every role.
  checkPublish(caller: Caller, claims: Claims, record?: Recorder): void {
    checkPublishedClaims(caller.claims, claims, record);
  }

  checkRelabel(caller: Caller, claims: Claims): void {
    checkSubset(caller.claims, claims);
  }

  isBoundByNames(): boolean {
    return true;
  }
}

const HIDDEN_IF_UNLABELED = { allowed: false, because: 'unlabeled' } as const;

/** reference/access: roles, the registry gate, the entry filter and admin scoping are all enforced. */
export class FullPolicy extends AccessPolicy {
  private readonly held = new WeakMap<Caller, Caller['claims']>();
  // Caller objects are cached per token, so roles are computed once per token.
  private readonly roles = new WeakMap<Caller, readonly Role[]>();
  private readonly digests = new WeakMap<Caller, readonly (readonly [key: string, digest: string])[]>();
  private readonly rulesKnownBy = new WeakMap<Caller, RoleRules>();

  private readonly unlabeled: Pick<Judgement, 'allowed' | 'because'>;

  /** @param providers The providers whose mapped claims the rules compare. */
  constructor(
    private readonly authz: AuthzConfig,
    private readonly providers: readonly ProviderConfig[] = [],
  ) {
    super();
    const { unlabeled } = authz.policy;
    this.unlabeled = { allowed: unlabeled === 'allow', because: `unlabeled: ${unlabeled}` };
  }

  rolesOf(caller: Caller): readonly Role[] {
    const cached = this.roles.get(caller);
    if (cached) return cached;
    const roles = caller.identified ? resolveRoles(this.claimsOf(caller), this.rulesFor(caller)) : [];
    this.roles.set(caller, roles);
    return roles;
  }

  mayAct(caller: Caller, role: Role, record?: Recorder): boolean {
    const allowed = this.isSuperAdmin(caller) || this.rolesOf(caller).includes(role);
    record?.({ allowed, rules: this.rulesFor(caller)[role] });
    return allowed;
  }

  mayListRegistries(caller: Caller): boolean {
    return this.authz.policy.registryListing === 'readers' || this.mayAct(caller, 'manageRegistries');
  }

  mayReach(caller: Caller, required: Claims, record?: Recorder): boolean {
    return this.judge(caller, required, this.unlabeled, record);
  }

  // Every caller covers `{}`, even with `unlabeled: deny`, because a directory without claims is meant for everyone.
  mayRead(caller: Caller, required: Claims): boolean {
    return (
      this.isSuperAdmin(caller) || covers(this.claimsOf(caller), required, this.authz.policy.arrayValues)
    );
  }

  keepsWithin(claims: Claims, required: Claims): boolean {
    return implies(claims, required, this.authz.policy.arrayValues);
  }

  // reference/access: both sides must have claims, so only super-admins see an entry without claims.
  maySee(caller: Caller, required: Claims, record?: Recorder): boolean {
    return this.judge(caller, required, HIDDEN_IF_UNLABELED, record);
  }

  seesAll(caller: Caller): boolean {
    return this.isSuperAdmin(caller);
  }

  // reference/access: an array requires all its values here, regardless of the policy for reads (reference/access).
  checkGrant(caller: Caller, claims: Claims): void {
    if (this.isSuperAdmin(caller)) return;
    if (isUnlabeled(claims) && this.authz.policy.unlabeled === 'deny') throw new ApiError('claims_required');
    checkSubset(this.claimsOf(caller), claims);
  }

  checkDelegation(caller: Caller, claims: Claims): void {
    if (!this.isSuperAdmin(caller)) checkSubset(this.claimsOf(caller), claims);
  }

  // Every entry manager can manage an entry whose claims were cleared; with `unlabeled: deny`, only super-admins can
  // (reference/access).
  mayManage(caller: Caller, required: Claims, record?: Recorder): boolean {
    return this.mayReach(caller, required, record);
  }

  checkPublish(caller: Caller, claims: Claims, record?: Recorder): void {
    if (!this.isSuperAdmin(caller)) checkPublishedClaims(this.claimsOf(caller), claims, record);
    else record?.({ allowed: true, required: claims, because: 'superAdmin' });
  }

  checkRelabel(caller: Caller, claims: Claims): void {
    this.checkGrant(caller, claims);
  }

  isBoundByNames(caller: Caller): boolean {
    return !this.isSuperAdmin(caller);
  }

  inheritsClaims(caller: Caller): boolean {
    return this.isSuperAdmin(caller);
  }

  visibilityKey(caller: Caller, isRequired: (key: string) => boolean): string {
    if (this.isSuperAdmin(caller)) return 'all';
    return this.digestsOf(caller)
      .filter(([key]) => isRequired(key))
      .map(([, digest]) => digest)
      .join();
  }

  // Computed once for all sources, because a token may have many groups.
  private digestsOf(caller: Caller): readonly (readonly [key: string, digest: string])[] {
    const cached = this.digests.get(caller);
    if (cached) return cached;
    const digests = Object.entries(this.claimsOf(caller))
      .sort(([one], [other]) => (one < other ? -1 : 1))
      .map(([key, value]) => [key, hash('sha256', JSON.stringify([key, value]), 'base64url')] as const);
    this.digests.set(caller, digests);
    return digests;
  }

  private judge(
    caller: Caller,
    required: Claims,
    ifUnlabeled: Pick<Judgement, 'allowed' | 'because'>,
    record?: Recorder,
  ): boolean {
    if (this.isSuperAdmin(caller)) {
      record?.({ allowed: true, required, because: 'superAdmin' });
      return true;
    }
    if (isUnlabeled(required)) {
      record?.({ ...ifUnlabeled, required });
      return ifUnlabeled.allowed;
    }
    const { arrayValues: arrays } = this.authz.policy;
    const allowed = covers(this.claimsOf(caller), required, arrays);
    record?.({ allowed, required, arrays });
    return allowed;
  }

  /** reference/explain: super-admins see every rule; anyone else sees only the rules that grant them a role. */
  private rulesFor({ assumedBy: asker }: Caller): RoleRules {
    if (!asker || this.isSuperAdmin(asker)) return this.authz.roles;
    const rules = this.rulesKnownBy.get(asker) ?? matchedRules(this.claimsOf(asker), this.authz.roles);
    this.rulesKnownBy.set(asker, rules);
    return rules;
  }

  private isSuperAdmin(caller: Caller): boolean {
    return this.rolesOf(caller).includes('superAdmin');
  }

  // A reload may have changed the mapping since the caller was identified: see claimsUnder.
  private claimsOf(caller: Caller): Caller['claims'] {
    if (!caller.token || this.providers.includes(caller.token.provider)) return caller.claims;
    const claims = this.held.get(caller) ?? claimsUnder(this.providers, caller);
    this.held.set(caller, claims);
    return claims;
  }
}

// reference/publishing
function checkPublishedClaims(held: Caller['claims'], claims: Claims, record?: Recorder): void {
  if (isUnlabeled(claims)) {
    record?.({ allowed: false, required: claims, because: 'unlabeled' });
    throw new ApiError('claims_required');
  }
  checkSubset(held, claims, record);
}

// reference/access: for writes, an array requires all its values.
function checkSubset(held: Caller['claims'], claims: Claims, record?: Recorder): void {
  const allowed = covers(held, claims, 'all');
  record?.({ allowed, required: claims, arrays: 'all' });
  if (allowed) return;
  const missing = findMissing(held, claims, 'all')
    .map(({ key, needs }) => `${key}=${needs}`.slice(0, MAX_MISSING_LENGTH))
    .slice(0, MAX_MISSING);
  throw new ApiError('claims_not_subset', `You do not hold these claims: ${missing.join(', ')}`, missing);
}

function isUnlabeled(claims: Claims): boolean {
  return Object.keys(claims).length === 0;
}
