import { Inject, Injectable, Logger } from '@nestjs/common';
import type { ConfigType } from '@nestjs/config';
import { DataSource } from 'typeorm';
import { auditConfig } from '../config/slices.js';
import { deleteInSlices, Polling } from '../database/polling.js';
import { MANAGED_KIND } from '../source-kinds/kinds.js';

const EVERY_MS = 5 * 60_000;
const ITEMS_PER_SLICE = 1_000;

/**
 * Deletes decided items older than `audit.retention` in slices. Keeps the items of rejected versions of synced sources,
 * because these items keep the versions out.
 */
@Injectable()
export class ItemRetention extends Polling {
  constructor(
    private readonly dataSource: DataSource,
    @Inject(auditConfig.KEY) private readonly audit: ConfigType<typeof auditConfig>,
  ) {
    super(EVERY_MS, new Logger('admission'), {
      failed: 'Deleting old admission items failed; it will be retried',
    });
  }

  protected async poll(): Promise<void> {
    await deleteInSlices(this, ITEMS_PER_SLICE, async (rows) => {
      const [, deleted] = await this.dataSource.query<[unknown[], number]>(
        `delete from admission_item where id in (
           select i.id from admission_item i join source s on s.id = i.source_id
           where i.status <> 'held' and i.decided_at < now() - $1 * interval '1 millisecond'
             and (i.status <> 'rejected' or s.kind = '${MANAGED_KIND}')
           limit $2 for update of i skip locked)`,
        [this.audit.retentionMs, rows],
      );
      return deleted;
    });
  }
}
