import { Module } from '@nestjs/common';
import { AuthzModule } from '../authz/authz.module.js';
import { AuditListController } from './audit-list.controller.js';
import { AuditListService } from './audit-list.service.js';
import { AuditRecorder } from './audit-recorder.js';
import { AuditQueries, AuditRetention } from './audit.queries.js';
import { AuditTrail } from './audit-trail.js';

/** The audit trail (reference/audit). */
@Module({
  imports: [AuthzModule],
  controllers: [AuditListController],
  providers: [AuditQueries, AuditTrail, AuditRecorder, AuditRetention, AuditListService],
  exports: [AuditTrail, AuditRecorder],
})
export class AuditModule {}
