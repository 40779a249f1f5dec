import { Module } from '@nestjs/common';
import { EntriesModule } from '../entries/entries.module.js';
import { Fetchers } from './fetchers.js';
import { FileFetcher } from './file.fetcher.js';
import { FileWatch } from './file-watch.js';
import { GitFetcher } from './git.fetcher.js';
import { SyncScheduler } from './scheduler.js';
import { SyncQueries } from './sync.queries.js';
import { SyncRun } from './sync-run.js';

@Module({
  imports: [EntriesModule],
  providers: [FileFetcher, FileWatch, GitFetcher, Fetchers, SyncQueries, SyncRun, SyncScheduler],
  exports: [SyncScheduler],
})
export class SyncModule {}
