import { Module } from '@nestjs/common';
import { AuditModule } from '../../audit/audit.module.js';
import { EntriesModule } from '../../entries/entries.module.js';
import { SourcesModule } from '../../sources/sources.module.js';
import { ClusterWatcher } from './cluster-watcher.js';
import { Cluster } from './cluster.js';
import { StoredEntries } from './stored-entries.queries.js';

@Module({
  imports: [AuditModule, EntriesModule, SourcesModule],
  providers: [Cluster, ClusterWatcher, StoredEntries],
})
export class KubernetesModule {}
