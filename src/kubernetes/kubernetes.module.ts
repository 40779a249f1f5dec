import { Module } from '@nestjs/common';
import { SourcesModule } from '../sources/sources.module.js';
import { EntriesModule } from '../entries/entries.module.js';
import { Cluster } from './cluster.js';
import { ClusterWatcher } from './cluster-watcher.js';
import { WatchQueries } from './watch.queries.js';

@Module({
  imports: [EntriesModule, SourcesModule],
  providers: [Cluster, ClusterWatcher, WatchQueries],
})
export class KubernetesModule {}
