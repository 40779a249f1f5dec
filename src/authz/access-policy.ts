import { type Caller, type Role, ROLES } from '../auth/caller.js';
import { type ArrayValues, type Claims, covers, findMissing, implies } from '../claims/claims.js';
import type { AuthzConfig } from '../config/config.js';
import { ApiError } from '../http/errors.js';

/** What decided where no claims were compared. */
export type Because = 'mode' | 'superAdmin' | 'unlabeled: allow' | 'unlabeled: deny' | 'unlabeled';

/** How the policy has decided one check (contract §10). */
export interface Judgement {
  readonly allowed: boolean;
  /** The claims that were asked for. */
  readonly required?: Claims;
  /** How arrays in them are read. */
  readonly arrays?: ArrayValues;
  /** Of a role: the maps of which any grants it. */
  readonly rules?: readonly Claims[];
  readonly because?: Because;
}

/** Is told how each check was decided, by the code that decides it. Ordinary requests pass none, and pay nothing. */
export type Recorder = (judgement: Judgement) => void;

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

/** Claims that one refusal names; who lacks more has got the message. */
const MAX_MISSING = 20;
const MAX_MISSING_LENGTH = 200;

/** What a mode of operation decides (contract §4), and nothing else does. A recorder is told how a check was decided: it changes nothing about that. */
export abstract class AccessPolicy {
  /** Another one when the decisions may be others: what rests on earlier ones is not used any more. */
  get version(): number {
    return 0;
  }

  /** The caller's roles, in the order of ROLES. */
  abstract rolesOf(caller: Caller): readonly Role[];
  /** May the caller act in this role? */
  abstract mayAct(caller: Caller, role: Role, record?: Recorder): boolean;
  /** May the caller list the registries through the admin API? */
  abstract mayListRegistries(caller: Caller): boolean;
  /** The gate of a registry, and whether a source or registry exists for this caller of the admin API. */
  abstract mayReach(caller: Caller, required: Claims, record?: Recorder): boolean;
  /** May the caller have files and secrets read that are for those who cover these claims (contract §7)? */
  abstract mayRead(caller: Caller, required: Claims): boolean;
  /** Is what carries these claims opened to nobody but those who cover `required` (contract §7)? */
  abstract keepsWithin(claims: Claims, required: Claims): boolean;
  /** Is an entry with these claims visible to this caller of the consumer API? */
  abstract maySee(caller: Caller, required: Claims, record?: Recorder): boolean;
  /** Is every entry visible to the caller of the consumer API, whatever its claims? */
  abstract seesAll(caller: Caller): boolean;
  /**
   * May the caller give a source or registry these claims?
   *
   * @throws ApiError 400 `claims_required`, `claims_not_subset`.
   */
  abstract checkGrant(caller: Caller, claims: Claims): void;
  /**
   * May the caller let others act with these claims: who has no token, or publishes through a registry (contract §6)?
   *
   * @throws ApiError 400 `claims_not_subset`.
   */
  abstract checkDelegation(caller: Caller, claims: Claims): void;
  /** Does an entry of the managed source exist for this caller of the admin API? */
  abstract mayManage(caller: Caller, required: Claims, record?: Recorder): boolean;
  /**
   * May the caller publish an entry with these claims (spec §4.2)?
   *
   * @throws ApiError 400 `claims_required`, `claims_not_subset`.
   */
  abstract checkPublish(caller: Caller, claims: Claims, record?: Recorder): void;
  /**
   * May the caller set the claims of an entry they manage to these (spec §4.3)? None at all clears them.
   *
   * @throws ApiError 400 `claims_required`, `claims_not_subset`.
   */
  abstract checkRelabel(caller: Caller, claims: Claims): void;
  /** Do the rules about who may use a name (`managed.names`, contract §7) hold for this caller? */
  abstract isBoundByNames(caller: Caller): boolean;
  /** Does a later version that is published without claims take over those of the first (contract §4)? */
  abstract inheritsClaims(caller: Caller): boolean;
  /**
   * What `maySee` depends on, as a text: callers with equal keys see the same entries, of those whose claims have no other
   * keys than these.
   *
   * @param isRequired whether any of the claims has this key.
   */
  abstract visibilityKey(caller: Caller, isRequired: (key: string) => boolean): string;
}

/** The modes without `authz`, where claims open and close nothing. */
abstract class OpenPolicy extends AccessPolicy {
  mayReach(_caller: Caller, required: Claims, record?: Recorder): boolean {
    record?.({ allowed: true, required, because: 'mode' });
    return true;
  }

  mayRead(): boolean {
    return true;
  }

  // The mode may change; the sources stay.
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

/** spec §1.2: no authentication, every check is bypassed. */
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

/** spec §1.2: a valid token is all that is needed; everybody who has one has every role. */
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

  // contract §4: everybody has every role here, but the rules of publishing hold nevertheless.
  checkPublish(caller: Caller, claims: Claims, record?: Recorder): void {
    checkPublishedClaims(caller, claims, record);
  }

  checkRelabel(caller: Caller, claims: Claims): void {
    checkSubset(caller, claims);
  }

  isBoundByNames(): boolean {
    return true;
  }
}

const SEEN_BY_NOBODY = { allowed: false, because: 'unlabeled' } as const;

/** spec §1.2: roles, the registry gate, the entry filter and admin scoping are all enforced. */
export class FullPolicy extends AccessPolicy {
  // Callers are cached with their tokens, so the rules are applied once per token and not per request.
  private readonly roles = new WeakMap<Caller, readonly Role[]>();

  private readonly unlabeled: Pick<Judgement, 'allowed' | 'because'>;

  constructor(private readonly authz: AuthzConfig) {
    super();
    const { unlabeled } = authz.policy;
    this.unlabeled = { allowed: unlabeled === 'allow', because: `unlabeled: ${unlabeled}` };
  }

  rolesOf(caller: Caller): readonly Role[] {
    const known = this.roles.get(caller);
    if (known) return known;
    const roles = caller.identified ? resolveRoles(caller.claims, this.authz.roles) : [];
    this.roles.set(caller, roles);
    return roles;
  }

  mayAct(caller: Caller, role: Role, record?: Recorder): boolean {
    const allowed = this.isSuperAdmin(caller) || this.rolesOf(caller).includes(role);
    record?.({ allowed, rules: this.authz.roles[role] });
    return allowed;
  }

  mayListRegistries(caller: Caller): boolean {
    return this.authz.policy.registryListing === 'readers' || this.mayAct(caller, 'manageRegistries');
  }

  mayReach(caller: Caller, required: Claims, record?: Recorder): boolean {
    return this.judge(caller, required, this.unlabeled, record);
  }

  // Everybody covers `{}`, also where nothing unlabelled may be made: a directory for all is meant to be one.
  mayRead(caller: Caller, required: Claims): boolean {
    return this.isSuperAdmin(caller) || covers(caller.claims, required, this.authz.policy.arrayValues);
  }

  keepsWithin(claims: Claims, required: Claims): boolean {
    return implies(claims, required, this.authz.policy.arrayValues);
  }

  // spec §2.2.3: both sides must have claims, so an entry without any is for super-admins only.
  maySee(caller: Caller, required: Claims, record?: Recorder): boolean {
    return this.judge(caller, required, SEEN_BY_NOBODY, record);
  }

  seesAll(caller: Caller): boolean {
    return this.isSuperAdmin(caller);
  }

  // spec §4.4; an array requires all its values here, whatever the policy for reads (contract §5).
  checkGrant(caller: Caller, claims: Claims): void {
    if (this.isSuperAdmin(caller)) return;
    if (isUnlabeled(claims) && this.authz.policy.unlabeled === 'deny') throw new ApiError('claims_required');
    checkSubset(caller, claims);
  }

  checkDelegation(caller: Caller, claims: Claims): void {
    if (!this.isSuperAdmin(caller)) checkSubset(caller, claims);
  }

  // Everybody covers `{}`: an entry whose claims were cleared stays manageable, but with `unlabeled: deny` for super-admins
  // only (contract §5).
  mayManage(caller: Caller, required: Claims, record?: Recorder): boolean {
    return this.mayReach(caller, required, record);
  }

  checkPublish(caller: Caller, claims: Claims, record?: Recorder): void {
    if (!this.isSuperAdmin(caller)) checkPublishedClaims(caller, claims, record);
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
    const held = Object.keys(caller.claims).filter(isRequired).sort();
    return JSON.stringify(held.map((key) => [key, caller.claims[key]]));
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
    const allowed = covers(caller.claims, required, arrays);
    record?.({ allowed, required, arrays });
    return allowed;
  }

  private isSuperAdmin(caller: Caller): boolean {
    return this.rolesOf(caller).includes('superAdmin');
  }
}

// spec §4.2.1 and §4.2.2
function checkPublishedClaims(caller: Caller, claims: Claims, record?: Recorder): void {
  if (isUnlabeled(claims)) {
    record?.({ allowed: false, required: claims, because: 'unlabeled' });
    throw new ApiError('claims_required');
  }
  checkSubset(caller, claims, record);
}

// contract §5: for writes an array requires all its values.
function checkSubset(caller: Caller, claims: Claims, record?: Recorder): void {
  const allowed = covers(caller.claims, claims, 'all');
  record?.({ allowed, required: claims, arrays: 'all' });
  if (allowed) return;
  const missing = findMissing(caller.claims, claims, 'all')
    .map(({ key, needs }) => `${key}=${needs}`.slice(0, MAX_MISSING_LENGTH))
    .slice(0, MAX_MISSING);
  throw new ApiError(
    'claims_not_subset',
    `The claims go beyond those of the caller: ${missing.join(', ')}`,
    missing,
  );
}

function isUnlabeled(claims: Claims): boolean {
  return Object.keys(claims).length === 0;
}
