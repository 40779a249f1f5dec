import { Module } from '@nestjs/common';
import { TypeOrmModule } from '@nestjs/typeorm';
import { AdmissionModule } from '../admission/admission.module.js';
import { AuditModule } from '../audit/audit.module.js';
import { CatalogModule } from '../catalog/catalog.module.js';
import { EntriesModule } from '../entries/entries.module.js';
import { SourcesModule } from '../sources/sources.module.js';
import { VisibilityModule } from '../visibility/visibility.module.js';
import { ContentCleanup } from './content-cleanup.js';
import { ContentMetrics } from './content-metrics.js';
import { ContentFetch, ContentFile, VersionContent } from './content.entity.js';
import { ContentController } from './content.controller.js';
import { ContentFetches } from './content-fetches.js';
import { ContentFilesController } from './content-files.controller.js';
import { ContentRepositories } from './content-repositories.js';
import { ContentStore } from './content-store.queries.js';
import { ContentUploads } from './content-upload.service.js';
import { EntriesWithContent } from './entries-with-content.queries.js';
import { MembersRefresh } from './members-refresh.js';
import { SourceFolders } from './source-folders.js';
import { VisibleContent } from './visible-content.queries.js';

/** The files of skills and plugins (reference/content). */
@Module({
  imports: [
    TypeOrmModule.forFeature([ContentFetch, ContentFile, VersionContent]),
    AdmissionModule,
    AuditModule,
    CatalogModule,
    EntriesModule,
    SourcesModule,
    VisibilityModule,
  ],
  controllers: [ContentController, ContentFilesController],
  providers: [
    ContentCleanup,
    ContentFetches,
    ContentMetrics,
    ContentRepositories,
    ContentStore,
    ContentUploads,
    EntriesWithContent,
    MembersRefresh,
    SourceFolders,
    VisibleContent,
  ],
  exports: [
    ContentRepositories,
    ContentStore,
    ContentUploads,
    EntriesWithContent,
    SourceFolders,
    VisibleContent,
  ],
})
export class ContentModule {}
