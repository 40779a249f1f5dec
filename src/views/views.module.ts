import { Module } from '@nestjs/common';
import { Partitions } from './partitions.js';
import { RegistryLookup } from './registry-lookup.js';
import { RegistryViews } from './registry-views.js';
import { ViewsQueries } from './views.queries.js';

@Module({
  providers: [ViewsQueries, RegistryLookup, Partitions, RegistryViews],
  exports: [Partitions, RegistryViews],
})
export class ViewsModule {}
