import { type RunningApplication } from '../app/start-service.js';
import { answerCalls, type WorkerStart } from '../app/worker-calls.js';
import { holdHeap } from '../app/heap-tuning.js';
import { createLogger } from '../telemetry/logger.js';
import { Metrics } from '../telemetry/metrics.js';
import { startTelemetry, type Telemetry } from './telemetry.js';

/** Serves the API as one of several processes, as the primary process orders. */
export function runWorker(): void {
  // Service managers and terminals signal all processes; the primary decides.
  for (const signal of ['SIGTERM', 'SIGINT', 'SIGHUP'] as const) process.on(signal, () => undefined);
  const metrics = new Metrics().withProcess();
  const stopping = new AbortController();
  let telemetry: Telemetry | null = null;
  let starting: Promise<RunningApplication> | undefined;
  const start = async ({ config, version, worker, ...role }: WorkerStart): Promise<RunningApplication> => {
    const logger = createLogger(config.log.level).child({ worker });
    metrics.readsDatabase = role.runsBackgroundJobs;
    // The primary exports the metrics of all processes.
    const traces = { ...config.telemetry, metrics: null };
    telemetry = await startTelemetry(traces, version.version, metrics, logger);
    holdHeap();
    const { startApplication } = await import('../app/start-service.js');
    return startApplication(config, version.version, logger, metrics, stopping.signal, role);
  };
  const started = async () => {
    if (!starting) throw new Error('the worker has not been started');
    return starting;
  };
  answerCalls({
    start: async (order) => {
      starting = start(order);
      const { publicPort } = await starting;
      return { publicPort };
    },
    reload: async (config) => {
      const application = await started();
      const reloaded = await application.reload(config);
      return { ...reloaded, rules: application.rules() };
    },
    metrics: () => metrics.families(),
    isReady: async () => {
      const application = await started();
      return application.ping().then(
        () => true,
        () => false,
      );
    },
    stop: async (noticeMs) => {
      stopping.abort();
      const application = await starting?.catch(() => undefined);
      await application?.stop(noticeMs);
      await telemetry?.stop();
    },
  });
}
