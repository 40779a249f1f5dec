import { collectDefaultMetrics, Registry } from 'prom-client';

/**
 * The metrics of one service, for Prometheus. Each service has its own registry: prom-client's global one would mix those of
 * several services in a process.
 */
export class Metrics {
  readonly register = new Registry();
  private readonly refreshers: (() => Promise<void>)[] = [];

  /** Adds those of the process: event loop, memory, garbage collection. They can't be removed again. */
  withProcess(): this {
    collectDefaultMetrics({ register: this.register });
    return this;
  }

  /** Runs this before each scrape, for metrics that are read from elsewhere. It must not reject, nor take long. */
  refreshBy(refresh: () => Promise<void>): void {
    this.refreshers.push(refresh);
  }

  /** All metrics in Prometheus' text format. */
  async exposition(): Promise<{ readonly contentType: string; readonly text: string }> {
    await Promise.all(this.refreshers.map((refresh) => refresh()));
    return { contentType: this.register.contentType, text: await this.register.metrics() };
  }
}
