import { Worker } from 'node:worker_threads';
import type { Logger } from 'pino';
import { type RunningService, STOP_LIMIT_MS } from '../app/start-service.js';
import { type Config, type Flags, oauthInUse } from '../config/config.js';
import type { LoadedConfig } from '../config/load-config.js';
import type { ProviderContact } from '../auth/provider-check.js';
import { buildReport } from '../config/environment.js';
import { versionReport } from '../health/version-report.js';
import { createStreamLogger, logFormat } from '../telemetry/logger.js';
import { Metrics } from '../telemetry/metrics.js';
import { configuration } from './check.js';

/** Describes to the operator why the start failed. */
function startFailure(error: unknown): string {
  if (!(error instanceof Error)) return 'The server could not start';
  // The error is identified by name, because this module does not load the application.
  if (error.name === 'DatabaseStartError') return error.message;
  const { code, address, port } = error as NodeJS.ErrnoException & { address?: string; port?: number };
  if (code === 'EADDRINUSE')
    return `Port ${port} is already in use; choose another with --address or --internal-address`;
  if (code === 'EADDRNOTAVAIL')
    return `This machine has no address ${address}; see --address and --internal-address`;
  if (code === 'EACCES' && port !== undefined) return `The server is not allowed to listen on port ${port}`;
  return `The server could not start: ${error.message}`;
}

/** Reloads the configuration on each SIGHUP, one reload at a time (reference/commands). */
class ReloadOnSignal {
  private last: Promise<void> = Promise.resolve();
  private isPending = false;

  constructor(
    private readonly file: string,
    private readonly flags: Flags,
    private readonly service: Promise<RunningService>,
    private readonly logger: Logger,
    private readonly reportProviders: (config: Config) => void,
  ) {}

  /** Signals during a reload trigger one more reload, because the file may have changed since it was read. */
  readonly request = (): void => {
    if (this.isPending) return;
    this.isPending = true;
    this.last = this.last
      .then(() => {
        this.isPending = false;
        return this.reload();
      })
      .catch((error: unknown) =>
        this.logger.error(
          { err: error },
          `SIGHUP: the configuration was not applied; send the signal again: ${startFailure(error)}`,
        ),
      );
  };

  private async reload(): Promise<void> {
    const service = await this.service;
    const loaded = await this.load();
    if ('problems' in loaded) {
      this.logger.error(`SIGHUP: the configuration is invalid and was not applied:\n${loaded.problems}`);
      return;
    }
    for (const warning of loaded.warnings) this.logger.warn(warning);
    const { changes, waiting } = await service.reload(loaded.config);
    this.logger.info(
      { changes, waiting },
      changes.length > 0 ? 'SIGHUP: the configuration was applied' : 'SIGHUP: no changes',
    );
    if (changes.some((change) => change.startsWith('auth.oauth.providers')))
      this.reportProviders(loaded.config);
    if (waiting.length > 0)
      this.logger.warn(`SIGHUP: these changes require a restart: ${waiting.join(', ')}`);
  }

  /** Reads the file in a worker thread: a large file takes seconds, during which this thread handles requests. */
  private load(): Promise<LoadedConfig | { readonly problems: string }> {
    const thread = new Worker(new URL('./load-config.worker.js', import.meta.url), {
      workerData: { file: this.file, flags: this.flags },
    });
    return new Promise((resolve, reject) => {
      thread.once('message', resolve).once('error', reject);
      thread.once('exit', () => reject(new Error('the thread that reads the file ended')));
    });
  }
}

const STDERR = 2;

/** Serves until a signal ends the process. Resolves only if the start fails, with the exit code. */
export async function serve(file: string, flags: Flags): Promise<number> {
  let problems = '';
  const loaded = configuration(file, flags, (found) => (problems = found));
  if (!loaded) {
    await failed(null, problems);
    return 1;
  }
  const { config, warnings } = loaded;
  const logger = await createStreamLogger(config.log.level, logFormat(config.log.format, process.stdout));
  for (const warning of warnings) logger.warn(warning);
  const stopping = new AbortController();
  let isReady = false;
  let stop: () => Promise<void> = async () => undefined;
  // Load balancers need time to notice that the server is no longer ready. After Ctrl-C in a terminal, no delay is
  // needed.
  const notice = config.shutdown.noticeMs ?? (process.stdout.isTTY ? 0 : 5_000);
  const end = (code: number, noticeMs: number) => {
    if (stopping.signal.aborted) return;
    stopping.abort();
    setTimeout(() => process.exit(code), noticeMs + STOP_LIMIT_MS).unref();
    stop()
      .catch((error: unknown) => logger.error({ err: error }, 'The server did not stop cleanly'))
      .finally(() => process.exit(code));
  };
  const version = versionReport(buildReport());
  const metrics = new Metrics().withProcess().withBuild(version);
  const { traces, metrics: isExported } = config.telemetry;
  // Starts before the application, because OpenTelemetry instruments the modules that it imports.
  const openTelemetry = traces || isExported ? await import('../telemetry/opentelemetry/start.js') : null;
  const telemetry = await openTelemetry?.startOpenTelemetry(
    config.telemetry,
    version.version,
    metrics,
    logger,
  );
  const { startService } = await import('../app/start-service.js');
  const { contactProviders } = await import('../auth/provider-check.js');
  const reportProviders = (used: Config) => {
    const contacts = contactProviders(oauthInUse(used.auth)?.providers ?? [], used);
    contacts.then(
      (contacted) => logContacts(contacted, logger),
      (error: unknown) => logger.warn({ err: error }, 'The identity providers could not be contacted'),
    );
  };
  const starting = startService(config, version, logger, metrics, stopping.signal);
  const stopAll = async (service: RunningService | undefined, noticeMs: number) => {
    await service?.stop(noticeMs);
    await telemetry?.stop();
  };
  for (const signal of ['SIGTERM', 'SIGINT'] as const)
    process.on(signal, () => {
      if (stopping.signal.aborted) return;
      // A server that was never ready has received no requests, so it can stop without notice.
      const noticeMs = isReady ? notice : 0;
      logger.info(
        `${signal}: stopping${noticeMs > 0 ? `, accepting new requests for ${noticeMs / 1_000} s` : ''}`,
      );
      // A failed start cleans up after itself.
      stop = async () => stopAll(await starting.catch(() => undefined), noticeMs);
      end(0, noticeMs);
    });
  starting.catch(() => undefined);
  process.on('SIGHUP', new ReloadOnSignal(file, flags, starting, logger, reportProviders).request);
  try {
    const service = await starting;
    isReady = true;
    if (!stopping.signal.aborted) {
      announce(logger, config, service);
      reportProviders(config);
    }
    void service.lost.then((reason) => {
      if (stopping.signal.aborted) return;
      logger.fatal(`The embedded PostgreSQL stopped: ${reason}`);
      stop = () => stopAll(service, 0);
      end(1, 0);
    });
    return await new Promise<never>(() => undefined);
  } catch (error) {
    if (stopping.signal.aborted) return await new Promise<never>(() => undefined);
    await failed(config, startFailure(error));
    logger.debug({ err: error }, 'Start failed');
    return 1;
  }
}

/** Logs the reason for a failed start to standard error. */
async function failed(config: Config | null, reason: string): Promise<void> {
  const logger = await createStreamLogger(
    'fatal',
    logFormat(config?.log.format ?? null, process.stderr),
    STDERR,
  );
  logger.fatal(reason);
}

function announce(logger: Logger, config: Config, { publicPort, internalPort }: RunningService): void {
  const base = urlOf(config.addresses.public.host, publicPort);
  const internal = urlOf(config.addresses.internal.host, internalPort);
  const urls = { registries: `${base}/registry`, docs: `${base}/docs`, metrics: `${internal}/metrics` };
  const { registries, docs, metrics } = urls;
  if (logFormat(config.log.format, process.stdout) === 'json')
    logger.info({ ...urls, internalPort }, 'Ready');
  else logger.info(`Ready: registries at ${registries}, documentation at ${docs}, metrics at ${metrics}`);
}

/** Logs a line for each identity provider (reference/commands). A provider that is down stops neither the start nor the process. */
function logContacts(contacts: readonly ProviderContact[], logger: Logger): void {
  for (const { provider, isOk, message } of contacts)
    logger[isOk ? 'info' : 'warn'](
      { context: 'auth', provider },
      `Identity provider ${provider}: ${isOk ? 'ok' : 'cannot be used'} (${message})`,
    );
}

function urlOf(host: string | undefined, port: number): string {
  const shown = host === undefined || host === '0.0.0.0' || host === '::' ? 'localhost' : host;
  return `http://${shown.includes(':') ? `[${shown}]` : shown}:${port}`;
}
