import { Global, Module } from '@nestjs/common';
import { RegistryGate } from '../authz/claims.interceptor.js';
import { RegistriesQueries } from './registries.queries.js';
import { RegistriesService } from './registries.service.js';
import { RegistryListController } from './registry-list.controller.js';

/** Global because the ClaimsInterceptor of every consumer route enters through the gate provided here. */
@Global()
@Module({
  controllers: [RegistryListController],
  providers: [
    RegistriesQueries,
    RegistriesService,
    { provide: RegistryGate, useExisting: RegistriesService },
  ],
  exports: [RegistryGate],
})
export class RegistriesModule {}
