import { Inject, Injectable } from '@nestjs/common';
import type { ConfigType } from '@nestjs/config';
import type { EntityManager } from 'typeorm';
import { limitsConfig } from '../config/slices.js';
import { ENTRY_TYPE_NAMES } from '../documents/entry-types.js';
import { ApiError } from '../http/errors.js';

const RETRY_AFTER_SECONDS = '60';

/** Keeps whoever may publish from making any number of partitions, which every read of others would have to judge. */
@Injectable()
export class PartitionLimit {
  constructor(@Inject(limitsConfig.KEY) private readonly limits: ConfigType<typeof limitsConfig>) {}

  /**
   * contract §2, `claimSetsPerSource`: asked in the transaction that has just given an entry this claim set. The triggers have locked
   * the source by then, so nobody adds another one at the same time. A claim set that other entries carry already is always fine.
   *
   * @throws ApiError 429 `too_many_requests`.
   */
  async check(manager: EntityManager, sourceId: number, claimSetId: number): Promise<void> {
    const [row] = await manager.query<{ exceeded: boolean }[]>(
      `select case when (select count(*) from (
           select 1 from unnest($4::text[]) t(type) join entry e
             on e.source_id = $1 and e.type = t.type and e.claim_set_id = $2 limit 2) carrying) > 1 then false
         else (select count(*) from source_partition where source_id = $1) > $3 end as exceeded`,
      [sourceId, claimSetId, this.limits.claimSetsPerSource, ENTRY_TYPE_NAMES],
    );
    if (row?.exceeded !== false)
      throw new ApiError(
        'too_many_requests',
        `The entries of the managed source may carry ${this.limits.claimSetsPerSource} different claims at a time, and do: use claims that are there already, or remove some`,
        undefined,
        { headers: { 'Retry-After': RETRY_AFTER_SECONDS } },
      );
  }
}
