import { setFlagsFromString } from 'node:v8';
import type { Logger } from 'pino';
import { ConfigurationConflict } from '../app/configured-resources.js';
import { buildReport } from '../config/environment.js';
import { versionReport } from '../health/version-report.js';
import { startService } from '../app/service.js';
import { createLogger } from '../telemetry/logger.js';
import { Metrics } from '../telemetry/metrics.js';
import type { Flags } from '../config/config.js';
import { configuration } from './configuration.js';

/** Hard end of a stop that hangs; contract §1 allows 10 s. */
const STOP_LIMIT_MS = 9_500;
/**
 * How much the heap may grow before it is collected again, in percent. Left alone V8 lets it double and more, and pages in
 * the making are large: a third of the memory would be what nobody needs any more.
 */
const HEAP_GROWTH = 20;

/** Serves until a signal arrives. Resolves to the exit code of a start that failed; a stop ends the process. */
export async function serve(file: string, flags: Flags): Promise<number> {
  const loaded = configuration(file, flags);
  if (!loaded) return 1;
  const { config, warnings } = loaded;
  setFlagsFromString(`--heap-growing-percent=${HEAP_GROWTH}`);
  const logger = createLogger(config.log.level);
  for (const warning of warnings) logger.warn(warning);
  const stopping = new AbortController();
  let stop: () => Promise<void> = async () => undefined;
  const end = (code: number) => {
    if (stopping.signal.aborted) return;
    stopping.abort();
    setTimeout(() => process.exit(code), STOP_LIMIT_MS).unref();
    stop()
      .catch((error: unknown) => logger.error({ err: error }, 'The stop did not go smoothly'))
      .finally(() => process.exit(code));
  };
  const metrics = new Metrics().withProcess();
  const starting = startService(config, versionReport(buildReport()), logger, metrics, stopping.signal);
  for (const signal of ['SIGTERM', 'SIGINT'] as const)
    process.on(signal, () => {
      logger.info(`${signal}: stopping`);
      // A start that fails has taken back by itself what it had begun.
      stop = async () => (await starting.catch(() => undefined))?.stop();
      end(0);
    });
  try {
    const service = await starting;
    if (!stopping.signal.aborted)
      announce(logger, service.publicPort, service.internalPort, config.addresses.public.host);
    void service.lost.then((reason) => {
      if (stopping.signal.aborted) return;
      logger.fatal(`The embedded PostgreSQL ended: ${reason}`);
      stop = () => service.stop();
      end(1);
    });
    return await new Promise<never>(() => undefined);
  } catch (error) {
    if (stopping.signal.aborted) return await new Promise<never>(() => undefined);
    process.stderr.write(`${startFailure(error)}\n`);
    logger.debug({ err: error }, 'Start failed');
    return 1;
  }
}

function announce(logger: Logger, publicPort: number, internalPort: number, host: string | undefined): void {
  const shown = host === undefined || host === '0.0.0.0' || host === '::' ? 'localhost' : host;
  const base = `http://${shown.includes(':') ? `[${shown}]` : shown}:${publicPort}`;
  logger.info({ registries: `${base}/registry`, docs: `${base}/docs`, internalPort }, 'Ready');
}

function startFailure(error: unknown): string {
  if (error instanceof ConfigurationConflict) return `The configuration can't be applied:\n${error.message}`;
  if (!(error instanceof Error)) return 'The server could not start';
  const { code, address, port } = error as NodeJS.ErrnoException & { address?: string; port?: number };
  if (code === 'EADDRINUSE')
    return `Port ${port} is in use already; choose another with --address or --internal-address`;
  if (code === 'EADDRNOTAVAIL')
    return `This machine has no address ${address}; see --address and --internal-address`;
  if (code === 'EACCES' && port !== undefined) return `The server may not listen on port ${port}`;
  return `The server could not start: ${error.message}`;
}
