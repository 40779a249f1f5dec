import { Module } from '@nestjs/common';
import { AuthzModule } from '../authz/authz.module.js';
import { PartitionLimit } from './partition-limit.queries.js';
import { Partitions } from './partitions.js';
import { RegistryLookup } from './registry-lookup.js';
import { RegistryViews } from './registry-views.js';
import { ViewsQueries } from './views.queries.js';

@Module({
  imports: [AuthzModule],
  providers: [ViewsQueries, RegistryLookup, Partitions, RegistryViews, PartitionLimit],
  exports: [Partitions, RegistryViews, PartitionLimit],
})
export class ViewsModule {}
