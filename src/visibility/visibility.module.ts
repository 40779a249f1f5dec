import { Module } from '@nestjs/common';
import { TypeOrmModule } from '@nestjs/typeorm';
import { CallersWithoutToken } from '../auth/auth.guard.js';
import { AuthModule } from '../auth/auth.module.js';
import { AuthzModule } from '../authz/authz.module.js';
import { Source } from '../sources/source.entity.js';
import { OpenEntries } from './open-entries.queries.js';
import { Partitions } from './partitions.js';
import { OpenRegistryCallers } from './open-registry-callers.js';
import { RegistryLookup, ViewsQueries } from './registry-lookup.queries.js';
import { RegistryViews } from './registry-views.js';

@Module({
  imports: [TypeOrmModule.forFeature([Source]), AuthModule, AuthzModule],
  providers: [
    ViewsQueries,
    RegistryLookup,
    OpenRegistryCallers,
    { provide: CallersWithoutToken, useExisting: OpenRegistryCallers },
    Partitions,
    RegistryViews,
    OpenEntries,
  ],
  exports: [CallersWithoutToken, OpenEntries, Partitions, OpenRegistryCallers, RegistryViews],
})
export class VisibilityModule {}
