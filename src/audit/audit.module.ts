import { Module } from '@nestjs/common';
import { AuthzModule } from '../authz/authz.module.js';
import { AuditListController } from './audit-list.controller.js';
import { AuditListService } from './audit-list.service.js';
import { AuditRetention } from './audit-retention.queries.js';
import { AuditQueries } from './audit.queries.js';
import { AuditTrail } from './audit-trail.js';
import { RefusalsAndReads } from './refusals-and-reads.js';

/** The audit trail (reference/audit). */
@Module({
  imports: [AuthzModule],
  controllers: [AuditListController],
  providers: [AuditQueries, AuditTrail, RefusalsAndReads, AuditRetention, AuditListService],
  exports: [AuditTrail, RefusalsAndReads],
})
export class AuditModule {}
