import { Module } from '@nestjs/common';
import { AuthModule } from '../auth/auth.module.js';
import { AuthzModule } from '../authz/authz.module.js';
import { CatalogModule } from '../catalog/catalog.module.js';
import { EntriesModule } from '../entries/entries.module.js';
import { RegistriesModule } from '../registries/registries.module.js';
import { SourcesModule } from '../sources/sources.module.js';
import { ViewsModule } from '../views/views.module.js';
import { AccessController } from './access.controller.js';
import { ExplainService } from './explain.service.js';
import { FactsQueries } from './facts.queries.js';
import { ManageService } from './manage.service.js';
import { PublishService } from './publish.service.js';
import { SeeService } from './see.service.js';

/** Explained access: why, who, and what if. */
@Module({
  imports: [
    AuthModule,
    AuthzModule,
    CatalogModule,
    EntriesModule,
    RegistriesModule,
    SourcesModule,
    ViewsModule,
  ],
  controllers: [AccessController],
  providers: [ExplainService, FactsQueries, ManageService, PublishService, SeeService],
})
export class AccessModule {}
