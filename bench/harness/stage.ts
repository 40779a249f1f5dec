import { chmod, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pg from 'pg';
import {
  type EmbeddedPostgres,
  startEmbeddedPostgres,
} from '#service/database/embedded/embedded-postgres.js';
import { migrateUp } from '#service/database/migrate.js';
import { createDataSource } from '#service/database/open-database.js';
import { dealClaimSets, fillCatalogue, VERSIONS_A_NAME } from '../data/catalogue.js';
import { say } from './report.js';
import { type Issuer, startIssuer } from './tokens.js';

const SOURCES = 5;
const SEED = 20_261_101;

/** A filled database. */
export interface Catalogue {
  readonly versions: number;
  readonly connection: EmbeddedPostgres['connection'];
  /** A connection for the benchmark's own statements. */
  readonly client: pg.Client;
}

/** What every benchmark needs: a PostgreSQL server with default settings, an identity provider, a directory. */
export class Stage {
  private readonly filled = new Map<string, { catalogue: Catalogue; claimSets: number }>();

  private constructor(
    readonly folder: string,
    readonly issuer: Issuer,
    private readonly postgres: EmbeddedPostgres,
    /** Directory for the services' CPU profiles; undefined: none are recorded. */
    readonly profiles: string | undefined,
  ) {}

  static async open(profiles?: string): Promise<Stage> {
    const folder = await mkdtemp(join(tmpdir(), 'registry-bench-'));
    // When run as root, PostgreSQL runs as another user and needs access.
    await chmod(folder, 0o755);
    const postgres = await startEmbeddedPostgres(join(folder, 'postgres'));
    return new Stage(folder, await startIssuer(), postgres, profiles);
  }

  /** Returns a catalog of this size: filled on first use, its claim sets redistributed if their number differs. */
  async catalogue(versions: number, claimSets: number, versionsEach = VERSIONS_A_NAME): Promise<Catalogue> {
    const database = `size_${versions}_${versionsEach}`;
    const known = this.filled.get(database);
    if (known && known.claimSets !== claimSets) {
      say(`distributing ${claimSets} claim sets over ${versions} versions`);
      await dealClaimSets(known.catalogue.client, claimSets);
      known.claimSets = claimSets;
    }
    if (known) return known.catalogue;
    say(`filling a database with ${versions} versions`);
    const catalogue = { versions, ...(await this.migratedDatabase(database)) };
    this.filled.set(database, { catalogue, claimSets });
    await fillCatalogue(catalogue.client, {
      versions,
      versionsEach,
      claimSets,
      sources: SOURCES,
      seed: SEED,
    });
    return catalogue;
  }

  async postgresVersion(): Promise<string> {
    return this.once(async (client) => {
      const { rows } = await client.query<{ server_version: string }>('show server_version');
      return rows[0]?.server_version ?? '';
    });
  }

  async close(): Promise<void> {
    for (const { catalogue } of this.filled.values()) await catalogue.client.end();
    await this.postgres.stop();
    this.issuer.stop();
    await rm(this.folder, { recursive: true, force: true });
  }

  private async migratedDatabase(database: string): Promise<Pick<Catalogue, 'connection' | 'client'>> {
    await this.once((client) => client.query(`create database ${database}`));
    const connection = { ...this.postgres.connection, database };
    const dataSource = createDataSource({ ...connection, poolMax: 2 }, [], () => undefined);
    await dataSource.initialize();
    await migrateUp(dataSource);
    await dataSource.destroy();
    const client = new pg.Client(connection);
    await client.connect();
    return { connection, client };
  }

  private async once<T>(work: (client: pg.Client) => Promise<T>): Promise<T> {
    const client = new pg.Client(this.postgres.connection);
    await client.connect();
    try {
      return await work(client);
    } finally {
      await client.end();
    }
  }
}
