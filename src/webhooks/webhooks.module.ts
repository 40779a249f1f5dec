import { Module } from '@nestjs/common';
import { TypeOrmModule } from '@nestjs/typeorm';
import { AuditEventRow } from '../audit/audit-event.entity.js';
import { AuditModule } from '../audit/audit.module.js';
import { AuthModule } from '../auth/auth.module.js';
import { AuthzModule } from '../authz/authz.module.js';
import { CatalogModule } from '../catalog/catalog.module.js';
import { RegistriesModule } from '../registries/registries.module.js';
import { VisibilityModule } from '../visibility/visibility.module.js';
import { ConfiguredWebhooks } from './configured-webhooks.js';
import { FollowedViews } from './followed-views.js';
import { KnownEntries } from './known-entries.queries.js';
import { ViewComparison } from './view-comparison.js';
import { Webhook, WebhookDeliveryRow, WebhookEntry } from './webhook.entity.js';
import { WebhookMetrics } from './webhook-metrics.js';
import { WebhookPlaces } from './webhook-places.queries.js';
import { WebhookScheduler } from './webhook-scheduler.js';
import { WebhookStates } from './webhook-states.queries.js';
import { WebhooksController } from './webhooks.controller.js';
import { WebhooksService } from './webhooks.service.js';

/** Delivers audit events to other systems (reference/webhooks). */
@Module({
  imports: [
    TypeOrmModule.forFeature([Webhook, WebhookEntry, WebhookDeliveryRow, AuditEventRow]),
    AuditModule,
    AuthModule,
    AuthzModule,
    CatalogModule,
    RegistriesModule,
    VisibilityModule,
  ],
  controllers: [WebhooksController],
  providers: [
    ConfiguredWebhooks,
    FollowedViews,
    KnownEntries,
    ViewComparison,
    WebhookMetrics,
    WebhookPlaces,
    WebhookScheduler,
    WebhookStates,
    WebhooksService,
  ],
  exports: [ConfiguredWebhooks, WebhookScheduler, WebhooksService],
})
export class WebhooksModule {}
