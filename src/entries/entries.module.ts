import { Module } from '@nestjs/common';
import { AuthzModule } from '../authz/authz.module.js';
import { ClaimSetsModule } from '../claim-sets/claim-sets.module.js';
import { SourcesModule } from '../sources/sources.module.js';
import { ViewsModule } from '../views/views.module.js';
import { EntriesController } from './entries.controller.js';
import { EntriesService } from './entries.service.js';
import { PublishedEntries } from './published-entries.js';
import { RawEntriesController } from './raw-entries.controller.js';
import { RawEntriesQueries } from './raw-entries.queries.js';
import { RawEntriesService } from './raw-entries.service.js';
import { EntryWriter } from './writer/entry-writer.js';

@Module({
  imports: [AuthzModule, ClaimSetsModule, SourcesModule, ViewsModule],
  controllers: [EntriesController, RawEntriesController],
  providers: [EntryWriter, PublishedEntries, EntriesService, RawEntriesQueries, RawEntriesService],
  exports: [EntryWriter, EntriesService],
})
export class EntriesModule {}
