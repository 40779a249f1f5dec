import { Module } from '@nestjs/common';
import { TypeOrmModule } from '@nestjs/typeorm';
import { AuditModule } from '../audit/audit.module.js';
import { AuthModule } from '../auth/auth.module.js';
import { AuthzModule } from '../authz/authz.module.js';
import { ClaimSetsModule } from '../claim-sets/claim-sets.module.js';
import { AdminFiles, AdminNamespaces } from './admin-limits.js';
import { SourceLeases } from './source-leases.queries.js';
import { SourceStates } from './source-states.queries.js';
import { SourceWriter } from './source-writer.js';
import { Source, SourceState } from './source.entity.js';
import { SourceKindsController, SourcesController } from './sources.controller.js';
import { SourcesRepository } from './sources.repository.js';
import { SourcesService } from './sources.service.js';

const SERVICES = [
  AdminFiles,
  AdminNamespaces,
  SourcesRepository,
  SourceLeases,
  SourceStates,
  SourceWriter,
  SourcesService,
];

@Module({
  imports: [
    TypeOrmModule.forFeature([Source, SourceState]),
    AuditModule,
    AuthModule,
    AuthzModule,
    ClaimSetsModule,
  ],
  controllers: [SourcesController, SourceKindsController],
  providers: SERVICES,
  exports: SERVICES,
})
export class SourcesModule {}
