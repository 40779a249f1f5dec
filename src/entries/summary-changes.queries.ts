import { Injectable, Logger, type OnApplicationBootstrap, type OnApplicationShutdown } from '@nestjs/common';
import { DataSource } from 'typeorm';
import { Polling } from '../database/polling.js';

/** How long changes are kept at least: several times as long as an unused index of summaries. */
const EVERY_MS = 30 * 60_000;

// Rows of later transactions than any come from another server's dump: see `HORIZON` in catalog/search-index.
const LIMIT = 'pg_snapshot_xmax(pg_current_snapshot())::text::bigint';
const PRUNE = [
  `insert into entry_summary_horizon as h (id, transaction) values (1, $1::bigint)
   on conflict (id) do update set transaction = excluded.transaction
   where h.transaction < $1::bigint or h.transaction >= ${LIMIT}`,
  `delete from entry_summary_change where transaction < $1::bigint or transaction >= ${LIMIT}`,
];

/** Deletes changes of summaries that no replica needs any more. */
@Injectable()
export class SummaryChanges implements OnApplicationBootstrap, OnApplicationShutdown {
  private readonly polling = new Polling(() => this.prune(), EVERY_MS, new Logger('search'), {
    failed: 'Deleting old changes of the ranked search failed; it will be retried',
  });
  /** The oldest transaction that was running at the last poll. */
  private before = '0';

  constructor(private readonly dataSource: DataSource) {}

  onApplicationBootstrap(): void {
    this.polling.beginLater();
  }

  onApplicationShutdown(): Promise<void> {
    return this.polling.end();
  }

  private async prune(): Promise<void> {
    const { before } = this;
    const [row] = await this.dataSource.query<{ oldest: string }[]>(
      'select pg_snapshot_xmin(pg_current_snapshot())::text as oldest',
    );
    this.before = row?.oldest ?? '0';
    await this.dataSource.transaction(async (manager) => {
      for (const statement of PRUNE) await manager.query(statement, [before]);
    });
  }
}
