import { Module } from '@nestjs/common';
import { TypeOrmModule } from '@nestjs/typeorm';
import { AuditModule } from '../audit/audit.module.js';
import { AuthzModule } from '../authz/authz.module.js';
import { ClaimSetsModule } from '../claim-sets/claim-sets.module.js';
import { SourcesModule } from '../sources/sources.module.js';
import { ViewsModule } from '../visibility/visibility.module.js';
import { EntriesController } from './entries.controller.js';
import { EntriesRepository } from './entries.repository.js';
import { EntriesService } from './entries.service.js';
import { EntryListController } from './entry-list.controller.js';
import { EntryListQueries } from './entry-list.queries.js';
import { EntryListService } from './entry-list.service.js';
import { Entry } from './entry.entity.js';
import { PublicationMetrics } from './publication-metrics.js';
import { PublishRules } from './publish-request.js';
import { EntryWriter } from './writer/entry-writer.js';

@Module({
  imports: [
    TypeOrmModule.forFeature([Entry]),
    AuditModule,
    AuthzModule,
    ClaimSetsModule,
    SourcesModule,
    ViewsModule,
  ],
  controllers: [EntriesController, EntryListController],
  providers: [
    EntryWriter,
    EntriesRepository,
    EntriesService,
    EntryListQueries,
    EntryListService,
    PublicationMetrics,
    PublishRules,
  ],
  exports: [EntryWriter, EntriesRepository, EntriesService, PublishRules],
})
export class EntriesModule {}
