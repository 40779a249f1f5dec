import { Module, type OnApplicationShutdown } from '@nestjs/common';
import type { ConfigType } from '@nestjs/config';
import { outboundConfig } from '../config/slices.js';
import { SourcesModule } from '../sources/sources.module.js';
import { EntriesModule } from '../entries/entries.module.js';
import { HttpClient } from '../outbound/http-client.js';
import { ApiFetcher } from './mcp/api.fetcher.js';
import { Fetchers } from './fetchers.js';
import { FileFetcher } from './file/file.fetcher.js';
import { SourceFiles } from './file/source-files.js';
import { FileWatch } from './file/file-watch.js';
import { GitFetcher } from './git/git.fetcher.js';
import { ReadMemory } from './read-memory.js';
import { SyncScheduler } from './scheduler.js';
import { SourceMetrics } from './source-metrics.js';
import { SyncQueries } from './sync.queries.js';
import { SyncRun } from './sync-run.js';

/** To one upstream. */
const MAX_CONNECTIONS = 8;

@Module({
  imports: [EntriesModule, SourcesModule],
  providers: [
    FileFetcher,
    FileWatch,
    SourceFiles,
    ApiFetcher,
    GitFetcher,
    {
      provide: HttpClient,
      useFactory: ({ proxy }: ConfigType<typeof outboundConfig>) =>
        new HttpClient({ maxConnections: MAX_CONNECTIONS, proxy }),
      inject: [outboundConfig.KEY],
    },
    Fetchers,
    { provide: ReadMemory, useFactory: () => new ReadMemory() },
    SourceMetrics,
    SyncQueries,
    SyncRun,
    SyncScheduler,
  ],
  exports: [SyncScheduler],
})
export class SyncModule implements OnApplicationShutdown {
  constructor(private readonly http: HttpClient) {}

  /** Comes after the scheduler's own: no run is under way any more. */
  async onApplicationShutdown(): Promise<void> {
    await this.http.close();
  }
}
