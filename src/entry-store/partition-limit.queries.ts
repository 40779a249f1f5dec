import { Inject, Injectable } from '@nestjs/common';
import type { ConfigType } from '@nestjs/config';
import type { EntityManager } from 'typeorm';
import { limitsConfig } from '../config/slices.js';
import { ENTRY_TYPE_NAMES } from '../documents/entry-types.js';
import { ApiError } from '../http/errors.js';
import { SourcePartition } from './source-partition.entity.js';

const RETRY_AFTER_SECONDS = '60';

/** Limits the partitions that publishers can create, since all of them must be evaluated for each caller's view. */
@Injectable()
export class PartitionLimit {
  constructor(@Inject(limitsConfig.KEY) private readonly limits: ConfigType<typeof limitsConfig>) {}

  /**
   * Enforces `claimSetsPerSource` (reference/configuration). Call it in the transaction that has just assigned this claim set to an
   * entry. Triggers have locked the source, so no other transaction can add a claim set. A claim set that other entries
   * already carry is always allowed.
   *
   * @throws ApiError 429 `too_many_requests`.
   */
  async check(manager: EntityManager, sourceId: number, claimSetId: number): Promise<void> {
    const carrying = await manager.query<object[]>(
      `select 1 from unnest($3::text[]) t(type)
       join entry e on e.source_id = $1 and e.type = t.type and e.claim_set_id = $2 limit 2`,
      [sourceId, claimSetId, ENTRY_TYPE_NAMES],
    );
    if (carrying.length > 1) return;
    if ((await manager.countBy(SourcePartition, { sourceId })) <= this.limits.claimSetsPerSource) return;
    throw new ApiError(
      'too_many_requests',
      `The managed source has reached its limit of ${this.limits.claimSetsPerSource} distinct claims: reuse existing claims, or delete entries`,
      undefined,
      { headers: { 'Retry-After': RETRY_AFTER_SECONDS } },
    );
  }
}
