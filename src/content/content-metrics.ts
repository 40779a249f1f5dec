import { Inject, Injectable } from '@nestjs/common';
import type { ConfigType } from '@nestjs/config';
import { Gauge } from 'prom-client';
import { DataSource } from 'typeorm';
import { contentConfig } from '../config/slices.js';
import { Metrics } from '../telemetry/metrics.js';
import { readContentFigures } from './content-fetch.queries.js';

/** Measures the stored content of all replicas, and the content waiting to be fetched. */
@Injectable()
export class ContentMetrics {
  private readonly stored: Gauge;
  private readonly outdated: Gauge;
  private readonly waiting: Gauge<'status'>;
  private readonly oldest: Gauge;

  constructor(
    metrics: Metrics,
    private readonly dataSource: DataSource,
    @Inject(contentConfig.KEY) private readonly content: ConfigType<typeof contentConfig>,
  ) {
    const registers = [metrics.register];
    this.stored = new Gauge({
      name: 'registry_content_stored_bytes',
      help: 'Size of all stored files, counting identical files once',
      registers,
    });
    this.outdated = new Gauge({
      name: 'registry_content_outdated_members',
      help: 'File lists whose members were read by an earlier version of the server',
      registers,
    });
    const limit = new Gauge({
      name: 'registry_content_limit_bytes',
      help: 'content.maxBytes',
      registers,
    });
    limit.set(content.maxBytes);
    this.waiting = new Gauge({
      name: 'registry_content_fetches',
      help: 'Versions whose content is pending, or failed and retried',
      labelNames: ['status'],
      registers,
    });
    this.oldest = new Gauge({
      name: 'registry_content_oldest_pending_seconds',
      help: 'Age of the oldest version whose content has not been requested yet; 0 if there is none',
      registers,
    });
    metrics.refreshWithin(
      () => this.read(),
      () => this.reset(),
    );
  }

  private async read(): Promise<void> {
    const figures = await readContentFigures(this.dataSource.manager);
    const mayFetch = this.content.fetchHosts.length > 0;
    this.reset();
    this.stored.set(figures.stored);
    this.outdated.set(figures.outdated);
    for (const status of ['pending', 'failed'] as const)
      this.waiting.set({ status }, mayFetch ? figures[status] : 0);
    this.oldest.set(mayFetch ? figures.oldest : 0);
  }

  private reset(): void {
    for (const gauge of [this.stored, this.outdated, this.waiting, this.oldest]) gauge.reset();
  }
}
