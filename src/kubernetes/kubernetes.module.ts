import { Module } from '@nestjs/common';
import { EntriesModule } from '../entries/entries.module.js';
import { SourcesModule } from '../sources/sources.module.js';
import { Cluster } from './api-server/cluster.js';
import { ClusterWatcher } from './cluster-watcher.js';
import { StoredEntries } from './stored-entries.queries.js';

@Module({
  imports: [EntriesModule, SourcesModule],
  providers: [Cluster, ClusterWatcher, StoredEntries],
})
export class KubernetesModule {}
