import { Module } from '@nestjs/common';
import { TypeOrmModule } from '@nestjs/typeorm';
import { CallersWithoutToken } from '../auth/auth.guard.js';
import { AuthzModule } from '../authz/authz.module.js';
import { RegistriesModule } from '../registries/registries.module.js';
import { Source } from '../sources/source.entity.js';
import { OpenEntries } from './open-entries.queries.js';
import { Partitions } from './partitions.js';
import { RegistryCallers, RegistryLookup } from './registry-lookup.js';
import { RegistryViews } from './registry-views.js';
import { PartitionLimit, ViewsQueries } from './views.queries.js';

@Module({
  imports: [TypeOrmModule.forFeature([Source]), AuthzModule, RegistriesModule],
  providers: [
    ViewsQueries,
    RegistryLookup,
    RegistryCallers,
    { provide: CallersWithoutToken, useExisting: RegistryCallers },
    Partitions,
    RegistryViews,
    PartitionLimit,
    OpenEntries,
  ],
  exports: [CallersWithoutToken, OpenEntries, Partitions, RegistryCallers, RegistryViews, PartitionLimit],
})
export class ViewsModule {}
