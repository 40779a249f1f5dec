import { type DynamicModule, Module } from '@nestjs/common';
import { DataSource } from 'typeorm';
import { PoolShares } from '../limits/semaphore.js';
import type { OpenDatabase } from './open-database.js';
import { SearchPool } from './search-pool.js';
import { PreparedStatements } from './statements.js';

type Pools = Pick<OpenDatabase, 'dataSource' | 'searches' | 'shares'>;

/**
 * Makes the one data source and the pool of the searches, opened before the application is built, injectable everywhere; and how
 * the connections are shared out.
 */
@Module({})
export class DatabaseModule {
  static with({ dataSource, searches, shares }: Pools): DynamicModule {
    return {
      module: DatabaseModule,
      global: true,
      providers: [
        { provide: DataSource, useValue: dataSource },
        { provide: SearchPool, useValue: searches },
        { provide: PoolShares, useValue: shares },
        PreparedStatements,
      ],
      exports: [DataSource, SearchPool, PoolShares, PreparedStatements],
    };
  }
}
