import { Module, type OnApplicationShutdown } from '@nestjs/common';
import type { ConfigType } from '@nestjs/config';
import { TypeOrmModule } from '@nestjs/typeorm';
import { AdmissionModule } from '../admission/admission.module.js';
import { AuditModule } from '../audit/audit.module.js';
import { limitsConfig, outboundConfig } from '../config/slices.js';
import { ContentModule } from '../content/content.module.js';
import { EntriesModule } from '../entries/entries.module.js';
import { HttpClient } from '../outbound/http-client.js';
import { SourceState } from '../sources/source.entity.js';
import { SourcesModule } from '../sources/sources.module.js';
import { MAX_CONNECTIONS } from './fetcher.js';
import { Fetchers } from './fetchers.js';
import { FileWatch } from './file/file-watch.js';
import { FileFetcher } from './file/file.fetcher.js';
import { FormatReaders } from './formats/format-readers.js';
import { SourceReader } from './source-reader.js';
import { SourceFiles } from './file/source-files.js';
import { GitFetcher } from './git/git.fetcher.js';
import { ReadMemory, readMemoryFor } from './read-memory.js';
import { ApiFetcher } from './registry-api/api.fetcher.js';
import { SourceTestController } from './source-test.controller.js';
import { SourceTests } from './source-test.service.js';
import { SyncScheduler } from './scheduler.js';
import { SourceMetrics, SyncMetrics } from './sync-metrics.js';
import { SyncRun } from './sync-run.js';
import { SyncQueries } from './sync.queries.js';

@Module({
  imports: [
    TypeOrmModule.forFeature([SourceState]),
    AdmissionModule,
    AuditModule,
    ContentModule,
    EntriesModule,
    SourcesModule,
  ],
  controllers: [SourceTestController],
  providers: [
    FileFetcher,
    FileWatch,
    SourceReader,
    FormatReaders,
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
      useFactory: ({ mebibytesPerFile }: ConfigType<typeof limitsConfig>) =>
        new ReadMemory(readMemoryFor(mebibytesPerFile)),
    },
    SourceMetrics,
    SourceTests,
    SyncMetrics,
    SyncQueries,
    SyncRun,
    SyncScheduler,
  ],
  exports: [SyncMetrics, SyncScheduler],
})
export class SyncModule implements OnApplicationShutdown {
  constructor(private readonly http: HttpClient) {}

  /** Runs after the scheduler has shut down, when no sync is running. */
  async onApplicationShutdown(): Promise<void> {
    await this.http.close();
  }
}
