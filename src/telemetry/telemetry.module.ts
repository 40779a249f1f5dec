import { type DynamicModule, Module } from '@nestjs/common';
import { Metrics } from './metrics.js';

/** Makes the metrics available to every module. They are served before the application is created. */
@Module({})
export class TelemetryModule {
  static with(metrics: Metrics): DynamicModule {
    return {
      module: TelemetryModule,
      global: true,
      providers: [{ provide: Metrics, useValue: metrics }],
      exports: [Metrics],
    };
  }
}
