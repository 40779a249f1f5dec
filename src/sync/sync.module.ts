import { Module, type OnApplicationShutdown } from '@nestjs/common';
import { EntriesModule } from '../entries/entries.module.js';
import { UpstreamHttp } from '../outbound/upstream-http.js';
import { ApiFetcher } from './api.fetcher.js';
import { Fetchers } from './fetchers.js';
import { FileFetcher } from './file.fetcher.js';
import { FileWatch } from './file-watch.js';
import { GitFetcher } from './git.fetcher.js';
import { SyncScheduler } from './scheduler.js';
import { SourceMetrics } from './source-metrics.js';
import { SyncQueries } from './sync.queries.js';
import { SyncRun } from './sync-run.js';

@Module({
  imports: [EntriesModule],
  providers: [
    FileFetcher,
    FileWatch,
    ApiFetcher,
    GitFetcher,
    { provide: UpstreamHttp, useFactory: (): UpstreamHttp => new UpstreamHttp() },
    Fetchers,
    SourceMetrics,
    SyncQueries,
    SyncRun,
    SyncScheduler,
  ],
  exports: [SyncScheduler],
})
export class SyncModule implements OnApplicationShutdown {
  constructor(private readonly upstreamHttp: UpstreamHttp) {}

  /** Comes after the scheduler's own: no run is under way any more. */
  async onApplicationShutdown(): Promise<void> {
    await this.upstreamHttp.close();
  }
}
