import { Global, Module } from '@nestjs/common';
import { EntryLabels } from '../sources/source-writer.js';
import { EntryWriter } from './entry-writer.js';
import { RawEntriesController } from './raw-entries.controller.js';
import { RawEntriesQueries } from './raw-entries.queries.js';
import { RawEntriesService } from './raw-entries.service.js';

/** Global because sources re-label their entries through the one writer of entry rows. */
@Global()
@Module({
  controllers: [RawEntriesController],
  providers: [
    EntryWriter,
    { provide: EntryLabels, useExisting: EntryWriter },
    RawEntriesQueries,
    RawEntriesService,
  ],
  exports: [EntryWriter, EntryLabels],
})
export class EntriesModule {}
