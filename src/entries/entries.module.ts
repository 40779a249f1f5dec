import { Global, Module } from '@nestjs/common';
import { ReachableEntries } from '../app/claims.interceptor.js';
import { EntryClaims } from '../sources/source-writer.js';
import { EntriesController } from './entries.controller.js';
import { EntriesService } from './entries.service.js';
import { EntryWriter } from './writer/entry-writer.js';
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
    { provide: EntryClaims, useExisting: EntryWriter },
    PublishedEntries,
    EntriesService,
    { provide: ReachableEntries, useExisting: EntriesService },
    RawEntriesQueries,
    RawEntriesService,
  ],
  exports: [EntryWriter, EntryClaims, ReachableEntries],
})
export class EntriesModule {}
