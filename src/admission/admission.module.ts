import { Module } from '@nestjs/common';
import { TypeOrmModule } from '@nestjs/typeorm';
import { AuditModule } from '../audit/audit.module.js';
import { AuthzModule } from '../authz/authz.module.js';
import { ClaimSetsModule } from '../claim-sets/claim-sets.module.js';
import { EntryStoreModule } from '../entry-store/entry-store.module.js';
import { SourcesModule } from '../sources/sources.module.js';
import { AdmissionItem, Block, BlockChange } from './admission.entity.js';
import { AdmissionController } from './admission.controller.js';
import { AdmissionWebhooks } from './admission-webhooks.js';
import { AdmittedItems } from './admitted-items.queries.js';
import { BlockChanges } from './block-changes.queries.js';
import { BlockSweep } from './block-sweep.queries.js';
import { BlocksController } from './blocks.controller.js';
import { Blocks } from './blocks.queries.js';
import { BlocksService } from './blocks.service.js';
import { ContentAdmission } from './content-admission.queries.js';
import { Decisions } from './review-decisions.js';
import { DueItems } from './due-items.queries.js';
import { HeldPublications } from './held-content.queries.js';
import { ItemRetention } from './item-retention.queries.js';
import { ItemViews } from './item-views.queries.js';
import { PublicationAdmission } from './publication-admission.js';
import { SeenItems } from './seen-items.queries.js';
import { SyncedAdmission } from './synced-admission.js';
import { WebhookQuestions } from './webhook-questions.js';

/** Decides which versions are admitted (reference/admission). All code that stores versions asks it first. */
@Module({
  imports: [
    TypeOrmModule.forFeature([AdmissionItem, Block, BlockChange]),
    AuditModule,
    AuthzModule,
    ClaimSetsModule,
    EntryStoreModule,
    SourcesModule,
  ],
  controllers: [AdmissionController, BlocksController],
  providers: [
    AdmissionWebhooks,
    AdmittedItems,
    BlockChanges,
    BlockSweep,
    Blocks,
    BlocksService,
    ContentAdmission,
    Decisions,
    DueItems,
    HeldPublications,
    ItemRetention,
    ItemViews,
    PublicationAdmission,
    SeenItems,
    SyncedAdmission,
    WebhookQuestions,
  ],
  exports: [
    AdmissionWebhooks,
    BlockSweep,
    ContentAdmission,
    DueItems,
    HeldPublications,
    ItemViews,
    PublicationAdmission,
    SeenItems,
    SyncedAdmission,
  ],
})
export class AdmissionModule {}
