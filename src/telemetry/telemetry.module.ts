import { type DynamicModule, Module } from '@nestjs/common';
import { Metrics } from './metrics.js';
import { AuthMetrics, CatalogMetrics, SyncMetrics } from './registry-metrics.js';

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
