import { Module } from '@nestjs/common';
import { AdmissionModule } from '../admission/admission.module.js';
import { AuditModule } from '../audit/audit.module.js';
import { AuthzModule } from '../authz/authz.module.js';
import { ClaimSetsModule } from '../claim-sets/claim-sets.module.js';
import { EntryStoreModule } from '../entry-store/entry-store.module.js';
import { SourcesModule } from '../sources/sources.module.js';
import { VisibilityModule } from '../visibility/visibility.module.js';
import { EntriesController } from './entries.controller.js';
import { EntriesService } from './entries.service.js';
import { EntryListController } from './entry-list.controller.js';
import { EntryListQueries } from './entry-list.queries.js';
import { EntryListService } from './entry-list.service.js';
import { PublishRules } from './publish-rules.js';
import { EntryWriter } from './writer/entry-writer.js';

@Module({
  imports: [
    AdmissionModule,
    AuditModule,
    AuthzModule,
    ClaimSetsModule,
    EntryStoreModule,
    SourcesModule,
    VisibilityModule,
  ],
  controllers: [EntriesController, EntryListController],
  providers: [EntryWriter, EntriesService, EntryListQueries, EntryListService, PublishRules],
  exports: [EntriesService, EntryWriter, PublishRules],
})
export class EntriesModule {}
