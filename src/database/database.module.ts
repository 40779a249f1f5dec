import { type DynamicModule, Module } from '@nestjs/common';
import { DataSource } from 'typeorm';
import type { OpenDatabase } from './open-database.js';
import { PoolShares } from './pools/pool-shares.js';
import { SearchPool } from './pools/search-pool.js';
import { PreparedStatements } from './prepared.js';

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
