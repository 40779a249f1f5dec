import { type DynamicModule, Module } from '@nestjs/common';
import { DataSource } from 'typeorm';
import { SearchPool } from './pools/search-pool.js';

/** Makes the one data source and the pool of the searches, opened before the application is built, injectable everywhere. */
@Module({})
export class DatabaseModule {
  static with(dataSource: DataSource, searches: SearchPool): DynamicModule {
    return {
      module: DatabaseModule,
      global: true,
      providers: [
        { provide: DataSource, useValue: dataSource },
        { provide: SearchPool, useValue: searches },
      ],
      exports: [DataSource, SearchPool],
    };
  }
}
