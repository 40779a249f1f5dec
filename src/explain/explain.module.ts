import { Module } from '@nestjs/common';
import { TypeOrmModule } from '@nestjs/typeorm';
import { AdmissionModule } from '../admission/admission.module.js';
import { AuthModule } from '../auth/auth.module.js';
import { AuthzModule } from '../authz/authz.module.js';
import { CatalogModule } from '../catalog/catalog.module.js';
import { ContentModule } from '../content/content.module.js';
import { EntriesModule } from '../entries/entries.module.js';
import { EntryStoreModule } from '../entry-store/entry-store.module.js';
import { Entry } from '../entry-store/entry.entity.js';
import { RegistriesModule } from '../registries/registries.module.js';
import { Registry } from '../registries/registry.entity.js';
import { SourcesModule } from '../sources/sources.module.js';
import { VisibilityModule } from '../visibility/visibility.module.js';
import { AccessChangesService } from './access-changes.service.js';
import { AssumedCallers } from './assumed-caller.js';
import { AccessController, WhoController } from './explain.controller.js';
import { ClaimSetCounts, FactsQueries } from './explain.queries.js';
import { ExplainService } from './explain.service.js';
import { ManageService } from './manage.service.js';
import { PreviewService } from './preview.service.js';
import { PublishService } from './publish.service.js';
import { SeeService } from './see.service.js';
import { WhoService } from './who.service.js';

/** Access explanations (reference/explain). */
@Module({
  imports: [
    TypeOrmModule.forFeature([Registry, Entry]),
    AdmissionModule,
    AuthModule,
    AuthzModule,
    CatalogModule,
    ContentModule,
    EntriesModule,
    EntryStoreModule,
    RegistriesModule,
    SourcesModule,
    VisibilityModule,
  ],
  controllers: [AccessController, WhoController],
  providers: [
    AccessChangesService,
    AssumedCallers,
    ClaimSetCounts,
    ExplainService,
    FactsQueries,
    ManageService,
    PreviewService,
    PublishService,
    SeeService,
    WhoService,
  ],
})
export class ExplainModule {}
