import { type DynamicModule, Module } from '@nestjs/common';
import { Metrics } from './metrics.js';
import { AuthMetrics, CatalogMetrics, SyncMetrics } from './registry-metrics.js';

/** Provides the metrics, which are served before the application is created, to every module. */
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
