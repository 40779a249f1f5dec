import { Module } from '@nestjs/common';
import { ContentCleanup } from './content-cleanup.js';
import { ContentStore } from './content-store.queries.js';

/** The files of skills and plugins (contract §13). */
@Module({
  providers: [ContentStore, ContentCleanup],
  exports: [ContentStore],
})
export class ContentModule {}
