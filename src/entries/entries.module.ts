import { Global, Module } from '@nestjs/common';
import { ReachableEntries } from '../authz/claims.interceptor.js';
import { EntryLabels } from '../sources/source-writer.js';
import { EntriesController } from './entries.controller.js';
import { EntriesService } from './entries.service.js';
import { EntryWriter } from './entry-writer.js';
import { PublishedEntries } from './published-entries.js';
import { RawEntriesController } from './raw-entries.controller.js';
import { RawEntriesQueries } from './raw-entries.queries.js';
import { RawEntriesService } from './raw-entries.service.js';

/** Global because sources re-label their entries, and the ClaimsInterceptor reaches them, through what is provided here. */
@Global()
@Module({
  controllers: [EntriesController, RawEntriesController],
  providers: [
    EntryWriter,
    { provide: EntryLabels, useExisting: EntryWriter },
    PublishedEntries,
    EntriesService,
    { provide: ReachableEntries, useExisting: EntriesService },
    RawEntriesQueries,
    RawEntriesService,
  ],
  exports: [EntryWriter, EntryLabels, ReachableEntries],
})
export class EntriesModule {}
