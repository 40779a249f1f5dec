import { Inject, Injectable } from '@nestjs/common';
import type { ConfigType } from '@nestjs/config';
import type { Reservation } from '../admission/publication.js';
import type { Caller } from '../auth/caller.js';
import { AccessPolicy, type Recorder } from '../authz/access-policy.js';
import { type Claims, covers, equalClaims } from '../claims/claims.js';
import { limitsConfig } from '../config/slices.js';
import type { EntryName, IncomingVersion } from '../documents/entry-types.js';
import { ApiError } from '../http/errors.js';
import { matchesGlob } from '../sources/entry-filter.js';
import { describeExcess, type EntrySize, findExceeded } from '../entry-store/entry-limits.queries.js';
import type { Entry } from '../entry-store/entry.entity.js';

/** The claims required to publish names matching these globs: an item of `managed.names` (reference/configuration). */
export interface NameRule {
  readonly include: readonly string[];
  readonly claims: Claims;
}

/**
 * Returns whether a name is reserved (reference/publishing). The first matching rule decides: the publisher's token and the
 * entry's claims must both cover the rule's claims. A name that matches no rule is not reserved. Matching ignores case,
 * so that `Com.Red/x` cannot imitate `com.red/x`.
 *
 * @param held the claims of the publisher's token.
 * @param given the current or new claims of the entry.
 */
export function isReserved(
  rules: readonly NameRule[],
  name: string,
  held: Readonly<Record<string, unknown>>,
  given: Claims,
): boolean {
  const rule = rules.find(({ include }) =>
    include.some((glob) => matchesGlob(glob.toLowerCase(), name.toLowerCase())),
  );
  return rule !== undefined && !(covers(held, rule.claims, 'all') && covers(given, rule.claims, 'all'));
}

/** Checks the caller's claims, the managed source, the name and the entry's size before publishing (reference/publishing, reference/access). */
@Injectable()
export class PublishRules {
  constructor(
    private readonly policy: AccessPolicy,
    @Inject(limitsConfig.KEY) readonly limits: ConfigType<typeof limitsConfig>,
  ) {}

  /**
   * Checks the role again, and the claims, in the transaction: a reload may have changed the policy while the request
   * waited for its body or for webhooks.
   *
   * @throws ApiError 403 `role_required`; 400 as `checkClaims`.
   */
  checkPublisher(caller: Caller, claims: Claims): void {
    if (!this.policy.mayAct(caller, 'manageEntries')) throw new ApiError('role_required');
    this.checkClaims(caller, claims);
  }

  /** @throws ApiError 400 `claims_required`, `claims_not_subset`. */
  checkClaims(caller: Caller, claims: Claims, record?: Recorder): void {
    this.policy.checkPublish(caller, claims, record);
  }

  /** @throws ApiError 409 `no_managed_source`. */
  checkSource<Source>(managed: Source | null): asserts managed is Source {
    if (managed === null) throw new ApiError('no_managed_source');
  }

  /**
   * Refuses reserved names (reference/publishing). Call it before looking up the name, so that the response does not reveal
   * whether the name exists.
   *
   * @throws ApiError 400 `name_reserved`.
   */
  checkName(
    caller: Caller,
    { name }: Pick<EntryName, 'name'>,
    claims: Claims,
    rules: readonly NameRule[] | undefined,
  ): void {
    if (this.policy.isBoundByNames(caller) && isReserved(rules ?? [], name, caller.claims, claims))
      throw new ApiError('name_reserved');
  }

  /**
   * Checks that a later version has the same claims as the entry (reference/access). A caller who cannot see the entry
   * learns only that the claims differ.
   *
   * @param entry the existing entry with that name.
   * @throws ApiError 400 `claims_mismatch`.
   */
  checkLater(caller: Caller, entry: Pick<Entry, 'claims'>, claims: Claims): void {
    if (this.policy.inheritsClaims(caller) && Object.keys(claims).length === 0) return;
    if (!this.policy.mayManage(caller, entry.claims) || !equalClaims(entry.claims, claims))
      throw new ApiError('claims_mismatch');
  }

  /**
   * Checks that a version is new. Only the publisher of a held version learns that it is held.
   *
   * @throws ApiError 409 `version_exists`.
   */
  checkNew(
    { name, version }: IncomingVersion,
    entry: { readonly hasVersion: boolean } | null,
    held: Pick<Reservation, 'hasVersion' | 'isOwn'>,
  ): void {
    if (!entry?.hasVersion && !held.hasVersion) return;
    const because = held.isOwn
      ? 'is held, and you published it: withdraw it first'
      : 'is already published and cannot change: publish a new version';
    throw new ApiError('version_exists', `Version ${version} of ${name} ${because}`);
  }

  /**
   * Checks that an entry has room for a further version (reference/limits). Call it after `checkLater`: only callers
   * who may publish to the entry may learn its size.
   *
   * @param bytes the length of the further document.
   * @throws ApiError 409 `entry_full`.
   */
  checkRoom({ name }: Pick<EntryName, 'name'>, stored: EntrySize, bytes: number): void {
    const size = { versions: stored.versions + 1, bytes: stored.bytes + bytes };
    const exceeded = findExceeded(size, this.limits);
    if (exceeded)
      throw new ApiError(
        'entry_full',
        `${name} would have ${describeExcess(exceeded, this.limits)}: delete versions, use another name, or ask an operator to raise the limit`,
      );
  }
}
