import type { Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { NestExpressApplication } from '@nestjs/platform-express';
import type { Logger } from 'pino';
import type { Config } from '../config/config.js';
import type { Address } from '../config/environment.js';
import { poolOf, useOf } from '../database/connection.js';
import { type OpenDatabase, openDatabase } from '../database/open-database.js';
import { prepareChecks } from '../documents/document-check.js';
import { createInternalServer } from '../health/internal-server.js';
import { Readiness, waitForFirstSyncs } from '../health/readiness.js';
import type { VersionReport } from '../health/version-report.js';
import { BACKLOG } from '../http/server-limits.js';
import { SyncScheduler } from '../sync/scheduler.js';
import { Metrics, observePools } from '../telemetry/metrics.js';
import { ConfiguredResources } from './configured-resources.js';
import { drain } from './drain.js';
import { ENTITIES } from './entities.js';
import { createPublicApp } from './public-app.js';
import { OpenRegistries, Reload, type Reloaded } from './reload.js';

export interface RunningService {
  readonly publicPort: number;
  readonly internalPort: number;
  /** Resolves with a reason when the service cannot continue. */
  readonly lost: Promise<string>;
  /** Applies a changed configuration: see Reload. */
  reload(config: Config): Promise<Reloaded>;
  /**
   * Stops accepting connections, finishes requests in flight and closes the database.
   *
   * @param noticeMs how long to keep accepting new requests first, while readiness returns 503.
   */
  stop(noticeMs?: number): Promise<void>;
}

/**
 * Starts the internal server, then the database, migrations, the declared catalogue and the public application.
 *
 * @param metrics served at /metrics on the internal server; the caller adds process metrics.
 * @param stopping aborts startup, which then fails or returns before the first syncs have finished.
 */
export async function startService(
  config: Config,
  version: VersionReport,
  logger: Logger,
  metrics = new Metrics(),
  stopping: AbortSignal = new AbortController().signal,
): Promise<RunningService> {
  const state = new Readiness();
  const internal = createInternalServer(state, version, metrics);
  await listen(internal, config.addresses.internal);
  let database: OpenDatabase | undefined;
  let app: NestExpressApplication | undefined;
  const stop = async (noticeMs = 0) => {
    state.markDraining();
    if (app) await drain(app, noticeMs);
    await database?.close();
    internal.close();
    internal.closeAllConnections();
  };
  try {
    database = await openDatabase(
      { connection: config.database, dataDirectory: config.dataDirectory },
      ENTITIES,
      (message) => logger.info({ context: 'database' }, message),
      stopping,
    );
    observePools(metrics, poolsOf(database));
    const applied = await database.migrate();
    if (applied.length > 0) logger.info({ migrations: applied }, 'Migrations applied');
    database.watch.begin();
    app = await createPublicApp(config, database, logger, metrics, version.version);
    const configured = app.get(ConfiguredResources);
    const changes = await database.retry(() => configured.apply(config));
    logger.info(
      { changes },
      changes.length > 0
        ? 'Sources and registries now match the configuration'
        : 'The configuration is unchanged',
    );
    prepareChecks();
    await app.init();
    await listen(app.getHttpServer(), config.addresses.public);
    const scheduler = app.get(SyncScheduler);
    await waitForFirstSyncs(() => scheduler.firstRunsAreDone(), logger, stopping);
    await app.get(OpenRegistries).report(config);
  } catch (error) {
    await stop().catch(() => undefined);
    throw error;
  }
  const { readiness } = database;
  const reload = app.get(Reload);
  state.markStarted(async () => {
    await readiness.ping();
    return true;
  });
  return {
    publicPort: portOf(app.getHttpServer()),
    internalPort: portOf(internal),
    lost: database.lost,
    reload: (next) => reload.apply(config, next),
    stop,
  };
}

function poolsOf({ dataSource, searches, readiness }: OpenDatabase): Parameters<typeof observePools>[1] {
  return () => {
    const main = poolOf(dataSource);
    return { ...(main ? { main: useOf(main) } : {}), search: searches.use, readiness: readiness.use };
  };
}

async function listen(server: Server, { host, port }: Address): Promise<void> {
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen({ port, host, backlog: BACKLOG }, () => {
      server.off('error', reject);
      resolve();
    });
  });
}

function portOf(server: Server): number {
  return (server.address() as AddressInfo).port;
}
