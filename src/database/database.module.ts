import { type DynamicModule, Module } from '@nestjs/common';
import { DataSource } from 'typeorm';
import { PoolSemaphores } from './connection-pool.js';
import type { OpenDatabase } from './open-database.js';
import { SearchPool } from './search-pool.js';
import { PreparedStatements } from './statements.js';

type Pools = Pick<OpenDatabase, 'dataSource' | 'searches' | 'semaphores'>;

/** Makes the data source and the pools available to every module. They are opened before the application is created. */
@Module({})
export class DatabaseModule {
  static with({ dataSource, searches, semaphores }: Pools): DynamicModule {
    return {
      module: DatabaseModule,
      global: true,
      providers: [
        { provide: DataSource, useValue: dataSource },
        { provide: SearchPool, useValue: searches },
        { provide: PoolSemaphores, useValue: semaphores },
        PreparedStatements,
      ],
      exports: [DataSource, SearchPool, PoolSemaphores, PreparedStatements],
    };
  }
}
