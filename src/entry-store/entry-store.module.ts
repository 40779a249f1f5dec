import { Module } from '@nestjs/common';
import { TypeOrmModule } from '@nestjs/typeorm';
import { ClaimSetsModule } from '../claim-sets/claim-sets.module.js';
import { EntriesRepository } from './entries.repository.js';
import { Entry } from './entry.entity.js';
import { PartitionLimit } from './entry-limits.queries.js';

/** Stores entries and versions; used by admission, publishing and syncs. */
@Module({
  imports: [TypeOrmModule.forFeature([Entry]), ClaimSetsModule],
  providers: [EntriesRepository, PartitionLimit],
  exports: [EntriesRepository, PartitionLimit],
})
export class EntryStoreModule {}
