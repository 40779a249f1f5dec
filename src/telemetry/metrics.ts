import { collectDefaultMetrics, Registry } from 'prom-client';

/**
 * The figures of one service, for Prometheus. Each service has its own: prom-client's global ones would mix those of several
 * services in a process.
 */
export class Metrics {
  readonly register = new Registry();
  private readonly refreshers: (() => Promise<void>)[] = [];

  /** Adds those of the process: event loop, memory, garbage collection. They can't be taken out again. */
  withProcess(): this {
    collectDefaultMetrics({ register: this.register });
    return this;
  }

  /** Does this before the figures are told, for those that are looked up. It must not reject, nor take long. */
  refreshBy(refresh: () => Promise<void>): void {
    this.refreshers.push(refresh);
  }

  /** All figures in Prometheus' text format. */
  async exposition(): Promise<{ readonly contentType: string; readonly text: string }> {
    await Promise.all(this.refreshers.map((refresh) => refresh()));
    return { contentType: this.register.contentType, text: await this.register.metrics() };
  }
}
