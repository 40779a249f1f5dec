import { Inject, Injectable, Logger } from '@nestjs/common';
import type { ConfigType } from '@nestjs/config';
import { DataSource } from 'typeorm';
import { auditConfig } from '../config/slices.js';
import { advisoryLock } from '../database/locks.js';
import { deleteInSlices, Polling } from '../database/polling.js';

/** Advisory lock held by the replica that deletes old events. */
const RETENTION_LOCK = 7_264_018_534;
const EVERY_MS = 5 * 60_000;
const EVENTS_PER_SLICE = 1_000;

/** Deletes events older than `audit.retention` in slices, on one replica at a time. */
@Injectable()
export class AuditRetention extends Polling {
  constructor(
    private readonly dataSource: DataSource,
    @Inject(auditConfig.KEY) private readonly audit: ConfigType<typeof auditConfig>,
  ) {
    super(EVERY_MS, new Logger('audit'), { failed: 'Deleting old audit events failed; it will be retried' });
  }

  protected async poll(): Promise<void> {
    const deleted = await deleteInSlices(this, EVENTS_PER_SLICE, (rows) =>
      this.deleteOldest(this.audit.retentionMs, rows),
    );
    if (deleted > 0) this.logger.log({ deleted }, 'Deleted old audit events');
  }

  /**
   * Deletes at most `most` events older than `olderThanMs`, oldest first.
   *
   * @returns the number of deleted events; null if another replica holds the lock.
   */
  private async deleteOldest(olderThanMs: number, most: number): Promise<number | null> {
    return this.dataSource.transaction(async (manager) => {
      if (!(await advisoryLock(manager, RETENTION_LOCK, 'try'))) return null;
      const [, deleted] = await manager.query<[unknown[], number]>(
        `delete from audit_event where id in (
           select id from audit_event
           where id < (rpad(lpad(to_hex(floor(extract(epoch from now() - $1 * interval '1 millisecond') * 1000)::bigint),
             12, '0'), 32, '0'))::uuid
           order by id limit $2)`,
        [olderThanMs, most],
      );
      return deleted;
    });
  }
}
