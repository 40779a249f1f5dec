import type { Server } from 'node:http';
import { setImmediate as nextTurn, setTimeout as pause } from 'node:timers/promises';
import type { NestExpressApplication } from '@nestjs/platform-express';
import type { Express } from 'express';
import type { Logger } from 'pino';
import type { Config } from '../config/config.js';
import { poolOf } from '../database/connection-pool.js';
import { useOf } from '../database/connection.js';
import { type OpenDatabase, openDatabase } from '../database/open-database.js';
import { startInternalServer } from '../health/internal-server.js';
import { Readiness, waitForFirstSyncs } from '../health/readiness.js';
import type { VersionReport } from '../health/version-report.js';
import { listen } from '../http/server-limits.js';
import { SyncScheduler } from '../sync/scheduler.js';
import { Metrics, observePools } from '../telemetry/metrics.js';
import { ConfiguredResources } from './configured-resources.js';
import { ENTITIES } from './entities.js';
import { createPublicApp } from './public-app.js';
import { OpenAccessReport } from './open-access-report.js';
import { Reload, type Reloaded } from './reload.js';

export interface RunningService {
  readonly publicPort: number;
  readonly internalPort: number;
  /** Resolves with the reason if the service cannot continue. */
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
 * Starts the internal server, then the database, migrations, the declared catalog and the public application.
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
  const internal = await startInternalServer(config.addresses.internal, state, version, metrics);
  let database: OpenDatabase | undefined;
  let app: NestExpressApplication | undefined;
  const stop = async (noticeMs = 0) => {
    state.markDraining();
    if (app) await drain(app, noticeMs);
    await database?.close();
    internal.close();
  };
  try {
    database = await openDatabase(
      { connection: config.database, dataDirectory: config.dataDirectory },
      ENTITIES,
      (message) => logger.info({ context: 'database' }, message),
      stopping,
    );
    observePools(metrics, poolsOf(database));
    // The application is built while PostgreSQL is busy.
    const [applied, created] = await Promise.all([
      database.migrate(),
      createPublicApp(config, database, logger, metrics, version.version),
    ]);
    app = created;
    if (applied.length > 0) logger.info({ migrations: applied }, 'Migrations applied');
    database.watch.begin();
    await applyResources(app.get(ConfiguredResources), config, database, logger);
    await app.init();
    const publicPort = await listen(app.getHttpServer(), config.addresses.public);
    const scheduler = app.get(SyncScheduler);
    await waitForFirstSyncs(() => scheduler.firstRunsAreDone(), logger, stopping);
    await app.get(OpenAccessReport).report(config);
    const { readiness, lost } = database;
    state.markStarted(() => readiness.ping());
    const reload = app.get(Reload);
    return {
      publicPort,
      internalPort: internal.port,
      lost,
      reload: (next) => reload.apply(config, next),
      stop,
    };
  } catch (error) {
    await stop().catch(() => undefined);
    internal.close();
    throw error;
  }
}

async function applyResources(
  configured: ConfiguredResources,
  config: Config,
  database: OpenDatabase,
  logger: Logger,
): Promise<void> {
  const changes = await database.retry(() => configured.apply(config));
  logger.info(
    { changes },
    changes.length > 0
      ? 'Sources and registries now match the configuration'
      : 'The configuration is unchanged',
  );
}

function poolsOf({ dataSource, searches, readiness }: OpenDatabase): Parameters<typeof observePools>[1] {
  return () => {
    const main = poolOf(dataSource);
    return { ...(main ? { main: useOf(main) } : {}), search: searches.use, readiness: readiness.use };
  };
}

/** Hard limit for a shutdown, counted from the end of the notice period; reference/commands allows 10 s. */
export const STOP_LIMIT_MS = 9_500;
/** Time for requests in flight to finish after the server stops accepting connections; reference/commands allows 10 s in total. */
const DRAIN_MS = 6_000;

/**
 * Stops the public application without losing a request (reference/commands): serves new requests during the notice period, with
 * `Connection: close` on every response, then stops accepting connections and finishes the requests in flight.
 */
export async function drain(app: NestExpressApplication, noticeMs: number): Promise<void> {
  const server: Server = app.getHttpServer();
  closeWithAnswers(app.getHttpAdapter().getInstance() as Express);
  if (server.listening) {
    if (noticeMs > 0) await pause(noticeMs);
    await finish(server);
  }
  await app.close();
}

// Patches the prototype of all responses, so that even responses to requests in flight get the header.
function closeWithAnswers({ response }: Express): void {
  const writeHead = response.writeHead;
  response.writeHead = function (this: typeof response, ...head: Parameters<typeof writeHead>) {
    if (!this.headersSent) this.setHeader('Connection', 'close');
    return writeHead.apply(this, head);
  } as typeof writeHead;
}

/** Resolves when all connections have ended. */
async function finish(server: Server): Promise<void> {
  const force = setTimeout(() => server.closeAllConnections(), DRAIN_MS);
  // Closing the server resets connections in the accept queue, so let the event loop accept them first.
  await nextTurn();
  await new Promise((resolve) => server.close(resolve));
  clearTimeout(force);
}
