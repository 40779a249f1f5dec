import { Module } from '@nestjs/common';
import { AuthzModule } from '../authz/authz.module.js';
import { AuditListController } from './audit-list.controller.js';
import { AuditListService } from './audit-list.service.js';
import { AuditRecorder } from './audit-recorder.js';
import { AuditRetention } from './audit-retention.js';
import { AuditTrail } from './audit-trail.js';
import { AuditQueries } from './audit.queries.js';

/** The audit trail (reference/audit). */
@Module({
  imports: [AuthzModule],
  controllers: [AuditListController],
  providers: [AuditQueries, AuditTrail, AuditRecorder, AuditRetention, AuditListService],
  exports: [AuditTrail, AuditRecorder],
})
export class AuditModule {}
