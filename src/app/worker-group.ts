import cluster, { type Worker } from 'node:cluster';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Logger } from 'pino';
import type { Config } from '../config/config.js';
import type { DatabaseSettings } from '../database/open-database.js';
import { startInternalServer } from '../health/internal-server.js';
import { Readiness } from '../health/readiness.js';
import type { VersionReport } from '../health/version-report.js';
import { LineSplitter, logLines } from '../telemetry/logger.js';
import { accumulated, type MetricFamilies, type Metrics, WorkerMetrics } from '../telemetry/metrics.js';
import type { InForce, Reloaded } from './reload.js';
import type { RunningService } from './start-service.js';
import { WorkerHandle } from './worker-calls.js';

/** Connections of each worker to the embedded PostgreSQL: for requests, and for all purposes. */
const EMBEDDED_POOL = 10;
const EMBEDDED_CONNECTIONS = EMBEDDED_POOL + 4;
/** Connections of PostgreSQL itself and of tools. */
const OTHER_CONNECTIONS = 6;

const METRICS_TIMEOUT_MS = 3_000;
const READINESS_TIMEOUT_MS = 2_500;
/** Pause before a worker that ended soon after its start is replaced; doubles up to the maximum. */
const FIRST_PAUSE_MS = 1_000;
const LONGEST_PAUSE_MS = 30_000;
/** A worker that has run this long ended for another reason than the one before it. */
const STABLE_MS = 60_000;
/** A worker that misses this many checks in a row hangs, and is killed. */
const CHECK_EVERY_MS = 10_000;
const MISSED_CHECKS = 3;

/**
 * Starts a server of several processes: workers, which serve the API, and this one, which accepts their connections, answers
 * on the internal port and replaces workers that end. The first worker runs the background jobs.
 */
export async function startWorkers(
  count: number,
  config: Config,
  version: VersionReport,
  logger: Logger,
  metrics: Metrics,
  stopping: AbortSignal,
): Promise<RunningService> {
  const state = new Readiness();
  const internal = await startInternalServer(config.addresses.internal, state, version, metrics);
  let database: GroupDatabase | undefined;
  let group: WorkerGroup | undefined;
  const stop = async (noticeMs = 0) => {
    state.markDraining();
    await group?.stop(noticeMs);
    await database?.close();
    internal.close();
  };
  try {
    database = await openGroupDatabase(count, config, logger);
    group = new WorkerGroup(count, shared(config, count), version, database.connection, logger, metrics);
    const running = group;
    const abort = () => void running.stop(0);
    stopping.addEventListener('abort', abort);
    const publicPort = await group.start();
    stopping.removeEventListener('abort', abort);
    state.markStarted(() => running.isReady());
    return {
      publicPort,
      internalPort: internal.port,
      lost: database.lost,
      reload: (next) => running.reload(shared(next, count)),
      stop,
    };
  } catch (error) {
    await stop();
    throw error;
  }
}

/** Limits that protect the whole server are divided; the others apply to each worker. */
function shared(config: Config, count: number): Config {
  const { limits } = config;
  const share = (limit: number) => Math.ceil(limit / count);
  return {
    ...config,
    limits: {
      ...limits,
      connections: share(limits.connections),
      requestsInFlight: share(limits.requestsInFlight),
    },
  };
}

interface GroupDatabase {
  readonly connection: DatabaseSettings['connection'];
  readonly lost: Promise<string>;
  close(): Promise<void>;
}

async function openGroupDatabase(count: number, config: Config, logger: Logger): Promise<GroupDatabase> {
  if (config.database)
    return {
      connection: config.database,
      lost: new Promise(() => undefined),
      close: async () => undefined,
    };
  const { startEmbeddedPostgres } = await import('../database/embedded/embedded-postgres.js');
  const { connection, exited, stop } = await startEmbeddedPostgres(join(config.dataDirectory, 'postgres'), {
    log: (message) => logger.info({ context: 'database' }, message),
    settings: { max_connections: String(Math.max(60, count * EMBEDDED_CONNECTIONS + OTHER_CONNECTIONS)) },
  });
  return { connection: { ...connection, poolMax: EMBEDDED_POOL }, lost: exited, close: stop };
}

class WorkerGroup {
  private readonly workers = new Map<number, WorkerHandle>();
  private readonly metrics: WorkerMetrics;
  private readonly checks: NodeJS.Timeout;
  private inForce: InForce | null = null;
  /** Counted by workers that have ended. */
  private ended: MetricFamilies = [];
  private hasStarted = false;
  private isStopping = false;

  constructor(
    private readonly count: number,
    private readonly config: Config,
    private readonly version: VersionReport,
    private readonly database: DatabaseSettings['connection'],
    private readonly logger: Logger,
    metrics: Metrics,
  ) {
    this.metrics = new WorkerMetrics(metrics, () => this.serving().length);
    metrics.aggregateWith(() => this.collect());
    cluster.setupPrimary({ silent: true, serialization: 'advanced' });
    this.checks = setInterval(() => this.checkAll(), CHECK_EVERY_MS).unref();
    // Also when the stop takes too long.
    process.once('exit', () => {
      for (const { worker } of this.workers.values()) worker.process.kill('SIGKILL');
    });
  }

  /**
   * Returns the port of the API.
   *
   * @throws Error if a worker cannot start.
   */
  async start(): Promise<number> {
    const slots = Array.from({ length: this.count }, (_, slot) => slot);
    const [first] = await Promise.all(slots.map((slot) => this.startWorker(slot)));
    this.hasStarted = true;
    return first ?? 0;
  }

  async isReady(): Promise<boolean> {
    const answers = this.serving().map((worker) => worker.callWithin(READINESS_TIMEOUT_MS, 'isReady'));
    return (await Promise.all(answers)).includes(true);
  }

  /** @throws the first error of a worker; the others may have applied the configuration. */
  async reload(config: Config): Promise<Reloaded> {
    // A worker that ends meanwhile is replaced by one with this configuration.
    this.inForce = { config, rules: this.inForce?.rules ?? null };
    const results = await Promise.all(
      [...this.workers.values()].map((worker) =>
        worker.call('reload', config).catch((error: unknown) => {
          if (!worker.hasEnded) throw error;
        }),
      ),
    );
    const [first, ...others] = results.filter((result) => result !== undefined);
    if (!first) throw new Error('no worker is running');
    this.inForce = { config, rules: first.rules };
    const changes = [first, ...others].flatMap((reloaded) => reloaded.changes);
    return { changes: [...new Set(changes)], waiting: first.waiting };
  }

  async stop(noticeMs: number): Promise<void> {
    this.isStopping = true;
    clearInterval(this.checks);
    await Promise.all(
      [...this.workers.values()].map(async (worker) => {
        await worker.call('stop', noticeMs).catch(() => undefined);
        await worker.ended;
      }),
    );
  }

  private async startWorker(slot: number): Promise<number> {
    const worker = new WorkerHandle(slot, cluster.fork());
    this.workers.set(slot, worker);
    forwardOutput(worker.worker, this.logger);
    closeUntaken(worker.worker);
    const began = performance.now();
    void worker.ended.then((reason) => this.replace(worker, reason, performance.now() - began));
    const { publicPort } = await worker.call('start', {
      config: this.config,
      version: this.version,
      worker: slot + 1,
      database: this.database,
      runsBackgroundJobs: slot === 0,
      inForce: this.inForce,
    });
    worker.isServing = true;
    return publicPort;
  }

  private pauses = new Map<number, number>();

  // Never rejects.
  private async replace(worker: WorkerHandle, reason: string, ranMs: number): Promise<void> {
    const { slot } = worker;
    this.ended = await accumulated(this.ended, worker.lastMetrics);
    worker.lastMetrics = [];
    if (this.isStopping || !this.hasStarted) return;
    this.metrics.crashed();
    const last = ranMs > STABLE_MS ? undefined : this.pauses.get(slot);
    const pause = last === undefined ? 0 : Math.min(Math.max(FIRST_PAUSE_MS, last * 2), LONGEST_PAUSE_MS);
    this.pauses.set(slot, pause);
    this.logger.error(
      { worker: slot + 1, reason, ranMs: Math.round(ranMs) },
      `Worker ${slot + 1} ended unexpectedly (${reason}); it is replaced ${pause === 0 ? 'now' : `in ${pause / 1_000} s`}`,
    );
    await sleep(pause, undefined, { ref: false });
    if (this.isStopping) return;
    await this.startWorker(slot).then(
      () => this.logger.info({ worker: slot + 1 }, `Worker ${slot + 1} serves requests again`),
      (error: unknown) => {
        this.logger.error({ worker: slot + 1, err: error }, `Worker ${slot + 1} could not be replaced`);
        // Its end starts the next attempt: the database may have been unreachable.
        this.workers.get(slot)?.worker.process.kill('SIGKILL');
      },
    );
  }

  private serving(): WorkerHandle[] {
    return [...this.workers.values()].filter(({ isServing }) => isServing);
  }

  private async collect(): Promise<MetricFamilies[]> {
    const asked = this.serving().map(async (worker) => {
      const families = await worker.callWithin(METRICS_TIMEOUT_MS, 'metrics');
      if (families && !worker.hasEnded) worker.lastMetrics = families;
    });
    await Promise.all(asked);
    return [...[...this.workers.values()].map(({ lastMetrics }) => lastMetrics), this.ended];
  }

  private checkAll(): void {
    for (const worker of this.serving())
      void worker.callWithin(CHECK_EVERY_MS, 'isReady').then((answer) => {
        worker.missedChecks = answer === undefined ? worker.missedChecks + 1 : 0;
        if (worker.missedChecks < MISSED_CHECKS || worker.hasEnded) return;
        this.logger.error({ worker: worker.slot + 1 }, `Worker ${worker.slot + 1} hangs and is killed`);
        worker.worker.process.kill('SIGKILL');
      });
  }
}

/** Workers write to pipes, so that lines of several processes do not mix. */
function forwardOutput({ process: { stdout, stderr } }: Worker, logger: Logger): void {
  const lines = new LineSplitter((text) => logLines(logger, text));
  stdout?.setEncoding('utf8').on('data', (text: string) => lines.add(text));
  stdout?.once('end', () => lines.end());
  stderr?.on('data', (text: Buffer) => process.stderr.write(text));
}

/** A connection that this process accepted and hands to a worker. Node closes it once the worker has taken it. */
interface Handed {
  /** Negative once closed. */
  readonly fd: number;
  close(): void;
}

/** Closes the connections that a worker had not taken when it ended: Node would leave their clients waiting. */
function closeUntaken({ process: child }: Worker): void {
  const handed: Handed[] = [];
  const send = child.send.bind(child) as (message: object, handle?: unknown, ...rest: unknown[]) => boolean;
  child.send = (message: object, handle?: unknown, ...rest: unknown[]) => {
    if (typeof handle === 'object' && handle !== null && 'fd' in handle) {
      while (handed[0] && handed[0].fd < 0) handed.shift();
      handed.push(handle as Handed);
    }
    return send(message, handle, ...rest);
  };
  child.once('exit', () => {
    for (const connection of handed) connection.close();
  });
}
