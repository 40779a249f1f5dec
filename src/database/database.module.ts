import { type DynamicModule, Module } from '@nestjs/common';
import { DataSource } from 'typeorm';

/** Makes the one data source, opened and migrated before the application is built, injectable everywhere. */
@Module({})
export class DatabaseModule {
  static with(dataSource: DataSource): DynamicModule {
    return {
      module: DatabaseModule,
      global: true,
      providers: [{ provide: DataSource, useValue: dataSource }],
      exports: [DataSource],
    };
  }
}
