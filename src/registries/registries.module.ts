import { Module } from '@nestjs/common';
import { TypeOrmModule } from '@nestjs/typeorm';
import { AuditModule } from '../audit/audit.module.js';
import { AuthzModule } from '../authz/authz.module.js';
import { ClaimSetsModule } from '../claim-sets/claim-sets.module.js';
import { SourcesModule } from '../sources/sources.module.js';
import { RegistriesController } from './registries.controller.js';
import { RegistriesRepository } from './registries.repository.js';
import { RegistriesService } from './registries.service.js';
import { AdminKeys, RegistryWriter } from './registry-writer.js';
import { Registry } from './registry.entity.js';

@Module({
  imports: [TypeOrmModule.forFeature([Registry]), AuditModule, AuthzModule, ClaimSetsModule, SourcesModule],
  controllers: [RegistriesController],
  providers: [AdminKeys, RegistriesRepository, RegistriesService, RegistryWriter],
  exports: [RegistriesRepository, RegistriesService, RegistryWriter],
})
export class RegistriesModule {}
