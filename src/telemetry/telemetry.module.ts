import { type DynamicModule, Module } from '@nestjs/common';
import { AuthMetrics } from './auth-metrics.js';
import { CatalogMetrics } from './catalog-metrics.js';
import { Metrics } from './metrics.js';
import { SyncMetrics } from './sync-metrics.js';

/** Makes the metrics of the service, which are served before the application is built, injectable everywhere. */
@Module({})
export class TelemetryModule {
  static with(metrics: Metrics): DynamicModule {
    return {
      module: TelemetryModule,
      global: true,
      providers: [{ provide: Metrics, useValue: metrics }, AuthMetrics, CatalogMetrics, SyncMetrics],
      exports: [Metrics, AuthMetrics, CatalogMetrics, SyncMetrics],
    };
  }
}
