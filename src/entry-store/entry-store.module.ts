import { Module } from '@nestjs/common';
import { TypeOrmModule } from '@nestjs/typeorm';
import { ClaimSetsModule } from '../claim-sets/claim-sets.module.js';
import { EntriesRepository } from './entries.repository.js';
import { Entry } from './entry.entity.js';
import { PartitionLimit } from './entry-limits.queries.js';

/** Entries and versions as stored: below admission, publishing and syncs, which all write them. */
@Module({
  imports: [TypeOrmModule.forFeature([Entry]), ClaimSetsModule],
  providers: [EntriesRepository, PartitionLimit],
  exports: [EntriesRepository, PartitionLimit],
})
export class EntryStoreModule {}
