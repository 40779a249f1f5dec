import { Global, Module } from '@nestjs/common';
import { ReachableRegistries, RegistryGate } from '../app/claims.interceptor.js';
import { RegistriesController } from './registries.controller.js';
import { RegistriesQueries } from './registries.queries.js';
import { RegistriesService } from './registries.service.js';
import { RegistryListController } from '../catalog/registry-list.controller.js';
import { Partitions } from '../views/partitions.js';
import { RegistryLookup } from '../views/registry-lookup.js';
import { Views } from '../views/views.js';

/** Global because the ClaimsInterceptor of every consumer route enters through the gate provided here. */
@Global()
@Module({
  controllers: [RegistryListController, RegistriesController],
  providers: [
    RegistriesQueries,
    RegistriesService,
    RegistryLookup,
    Partitions,
    Views,
    { provide: RegistryGate, useExisting: RegistriesService },
    { provide: ReachableRegistries, useExisting: RegistriesService },
  ],
  exports: [Partitions, RegistriesService, RegistryGate, ReachableRegistries],
})
export class RegistriesModule {}
