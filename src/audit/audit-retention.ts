import {
  Inject,
  Injectable,
  Logger,
  type OnApplicationBootstrap,
  type OnApplicationShutdown,
} from '@nestjs/common';
import type { ConfigType } from '@nestjs/config';
import { auditConfig } from '../config/slices.js';
import { deleteInSlices, Polling } from '../database/polling.js';
import { AuditQueries } from './audit.queries.js';

const EVERY_MS = 5 * 60_000;
const EVENTS_PER_SLICE = 1_000;

/** Deletes events older than `audit.retention` in slices, on one replica at a time. */
@Injectable()
export class AuditRetention implements OnApplicationBootstrap, OnApplicationShutdown {
  private readonly logger = new Logger('audit');
  private readonly polling = new Polling(() => this.run(), EVERY_MS, this.logger, {
    failed: 'Deleting old audit events failed; it will be retried',
  });

  constructor(
    private readonly queries: AuditQueries,
    @Inject(auditConfig.KEY) private readonly audit: ConfigType<typeof auditConfig>,
  ) {}

  onApplicationBootstrap(): void {
    this.polling.begin();
  }

  onApplicationShutdown(): Promise<void> {
    return this.polling.end();
  }

  private async run(): Promise<void> {
    const deleted = await deleteInSlices(this.polling, EVENTS_PER_SLICE, (rows) =>
      this.queries.deleteOldest(this.audit.retentionMs, rows),
    );
    if (deleted > 0) this.logger.log({ deleted }, 'Deleted old audit events');
  }
}
