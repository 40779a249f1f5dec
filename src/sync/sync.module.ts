import { Module, type OnApplicationShutdown } from '@nestjs/common';
import { AuditModule } from '../audit/audit.module.js';
import type { ConfigType } from '@nestjs/config';
import { limitsConfig, outboundConfig } from '../config/slices.js';
import { SourcesModule } from '../sources/sources.module.js';
import { EntriesModule } from '../entries/entries.module.js';
import { HttpClient } from '../outbound/http-client.js';
import { ApiFetcher } from './mcp/api.fetcher.js';
import { Fetchers } from './fetchers.js';
import { FileFetcher } from './file/file.fetcher.js';
import { SourceFiles } from './file/source-files.js';
import { FileWatch } from './file/file-watch.js';
import { RegistryFileReader } from './file/registry-file-reader.js';
import { GitFetcher } from './git/git.fetcher.js';
import { HeapGrowth } from './memory/heap-growth.js';
import { ReadMemory, readMemoryFor } from './memory/read-memory.js';
import { MAX_CONNECTIONS } from './upstream-limits.js';
import { SyncScheduler } from './scheduler.js';
import { SourceMetrics } from './source-metrics.js';
import { SyncQueries } from './sync.queries.js';
import { SyncRun } from './sync-run.js';

@Module({
  imports: [AuditModule, EntriesModule, SourcesModule],
  providers: [
    FileFetcher,
    FileWatch,
    RegistryFileReader,
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
    {
      provide: ReadMemory,
      inject: [limitsConfig.KEY],
      useFactory: ({ mebibytesPerFile }: ConfigType<typeof limitsConfig>) => {
        const heap = new HeapGrowth();
        heap.fit(0);
        return new ReadMemory(readMemoryFor(mebibytesPerFile), (bytes) => heap.fit(bytes));
      },
    },
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
