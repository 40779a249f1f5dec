import { Module } from '@nestjs/common';
import { TypeOrmModule } from '@nestjs/typeorm';
import { AdmissionModule } from '../../admission/admission.module.js';
import { AuditModule } from '../../audit/audit.module.js';
import { EntriesModule } from '../../entries/entries.module.js';
import { Entry } from '../../entry-store/entry.entity.js';
import { SourcesModule } from '../../sources/sources.module.js';
import { SyncModule } from '../sync.module.js';
import { ClusterWatcher } from './cluster-watcher.js';
import { KubernetesClient } from './kubernetes-client.js';
import { WatchServices } from './source-watch.js';
import { StoredEntries } from './stored-entries.queries.js';

@Module({
  imports: [
    TypeOrmModule.forFeature([Entry]),
    AdmissionModule,
    AuditModule,
    EntriesModule,
    SourcesModule,
    SyncModule,
  ],
  providers: [ClusterWatcher, KubernetesClient, StoredEntries, WatchServices],
})
export class KubernetesModule {}
