import { type DynamicModule, Module } from '@nestjs/common';
import { APP_FILTER, APP_GUARD, APP_INTERCEPTOR, APP_PIPE } from '@nestjs/core';
import { AdmissionModule } from '../admission/admission.module.js';
import { AuditFilter, ReadsInterceptor } from '../audit/audit.filter.js';
import { AuditModule } from '../audit/audit.module.js';
import { AuthGuard } from '../auth/auth.guard.js';
import { AuthModule } from '../auth/auth.module.js';
import { AuthzModule } from '../authz/authz.module.js';
import { ReadOnlyGuard, RolesGuard } from '../authz/roles.guard.js';
import { CatalogModule } from '../catalog/catalog.module.js';
import type { Config } from '../config/config.js';
import { configurationModule } from '../config/slices.js';
import { ContentModule } from '../content/content.module.js';
import { DatabaseModule } from '../database/database.module.js';
import type { OpenDatabase } from '../database/open-database.js';
import { DiscoveryModule } from '../discovery/discovery.module.js';
import { EntriesModule } from '../entries/entries.module.js';
import { ExplainModule } from '../explain/explain.module.js';
import { RequestValidationPipe } from '../http/validation.pipe.js';
import { MarketplaceModule } from '../marketplace/marketplace.module.js';
import { McpEndpointModule } from '../mcp-endpoint/mcp-endpoint.module.js';
import { McpPublisherModule } from '../mcp-publisher/mcp-publisher.module.js';
import { RegistriesModule } from '../registries/registries.module.js';
import { SourcesModule } from '../sources/sources.module.js';
import { KubernetesModule } from '../sync/kubernetes/kubernetes.module.js';
import { SyncModule } from '../sync/sync.module.js';
import type { Metrics } from '../telemetry/metrics.js';
import { TelemetryModule } from '../telemetry/telemetry.module.js';
import { VisibilityModule } from '../visibility/visibility.module.js';
import { WebUiModule } from '../web-ui/web-ui.module.js';
import { WebhooksModule } from '../webhooks/webhooks.module.js';
import { AppliedSettings } from './applied-settings.js';
import { CapacityInterceptor } from './capacity.interceptor.js';
import { ClaimsInterceptor } from './claims.interceptor.js';
import { ConfiguredRegistries } from './configured-registries.js';
import { ConfiguredResources } from './configured-resources.js';
import { ConfiguredSources } from './configured-sources.js';
import { LargeBodies } from './large-bodies.js';
import { OpenAccessReport } from './open-access-report.js';
import { Reload } from './reload.js';

/** The public application. Guards, interceptors and the pipe run in the order listed. */
@Module({})
export class AppModule {
  static with(config: Config, database: OpenDatabase, metrics: Metrics): DynamicModule {
    return {
      module: AppModule,
      imports: [
        configurationModule(config),
        TelemetryModule.with(metrics),
        DatabaseModule.with(database),
        // This module comes first, because Express tries routes in order and most requests are for it.
        CatalogModule,
        // These are before McpPublisherModule, which has routes for every path below a registry.
        McpEndpointModule,
        MarketplaceModule,
        McpPublisherModule,
        ContentModule,
        AuthModule,
        AuthzModule,
        AuditModule,
        DiscoveryModule,
        ...(config.web.enabled ? [WebUiModule] : []),
        SourcesModule,
        RegistriesModule,
        VisibilityModule,
        EntriesModule,
        AdmissionModule,
        ExplainModule,
        WebhooksModule,
        SyncModule,
        KubernetesModule,
      ],
      providers: [
        AppliedSettings,
        ConfiguredRegistries,
        ConfiguredResources,
        ConfiguredSources,
        LargeBodies,
        Reload,
        OpenAccessReport,
        { provide: APP_FILTER, useClass: AuditFilter },
        { provide: APP_GUARD, useClass: AuthGuard },
        { provide: APP_GUARD, useClass: RolesGuard },
        { provide: APP_GUARD, useClass: ReadOnlyGuard },
        ...(config.audit.reads ? [{ provide: APP_INTERCEPTOR, useClass: ReadsInterceptor }] : []),
        { provide: APP_INTERCEPTOR, useClass: ClaimsInterceptor },
        { provide: APP_INTERCEPTOR, useClass: CapacityInterceptor },
        { provide: APP_PIPE, useClass: RequestValidationPipe },
      ],
    };
  }
}
