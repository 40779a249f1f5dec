import { Injectable } from '@nestjs/common';
import type { Caller } from '../auth/caller.js';
import { AccessPolicy, type Recorder } from '../authz/access-policy.js';
import { type Claims, equalClaims } from '../claims/claims.js';
import type { EntryName } from '../documents/incoming-version.js';
import { ApiError } from '../http/errors.js';
import type { Entry } from './entry.entity.js';
import { isReserved, type NameRule } from './name-rules.js';

/** What publishing asks of the caller, the claims and the name (spec §4.2, contract §4, §7). Asked in this order. */
@Injectable()
export class PublishRules {
  constructor(private readonly policy: AccessPolicy) {}

  /** @throws ApiError 400 `claims_required`, `claims_not_subset`. */
  checkClaims(caller: Caller, claims: Claims, record?: Recorder): void {
    this.policy.checkPublish(caller, claims, record);
  }

  /** @throws ApiError 409 `no_managed_source`. */
  checkSource<Source>(managed: Source | null): asserts managed is Source {
    if (managed === null) throw new ApiError('no_managed_source');
  }

  /**
   * contract §7. Before what there is of the name is looked at: the answer is the same when it is still, or again, nobody's.
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
   * contract §4: equal claims for everyone; who may not see the name learns no more than that theirs differ.
   *
   * @param entry that has the name already.
   * @throws ApiError 400 `claims_mismatch`.
   */
  checkLater(caller: Caller, entry: Pick<Entry, 'claims'>, claims: Claims): void {
    if (this.policy.inheritsClaims(caller) && Object.keys(claims).length === 0) return;
    if (!this.policy.mayManage(caller, entry.claims) || !equalClaims(entry.claims, claims))
      throw new ApiError('claims_mismatch');
  }
}
