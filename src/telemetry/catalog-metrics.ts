import { Injectable } from '@nestjs/common';
import { Counter } from 'prom-client';
import { ENTRY_TYPE_NAMES, type EntryType } from '../documents/entry-types.js';
import { Metrics } from './metrics.js';

/** Metrics of what is read and published on this replica. */
@Injectable()
export class CatalogMetrics {
  private readonly pages: Counter<'outcome'>;
  private readonly publications: Counter<'entry_type'>;

  constructor({ register }: Metrics) {
    const registers = [register];
    this.pages = new Counter({
      name: 'registry_page_cache_requests_total',
      help: 'Pages of the consumer API that were found ready to send (hit), and that had to be read (miss)',
      labelNames: ['outcome'],
      registers,
    });
    this.publications = new Counter({
      name: 'registry_publications_total',
      help: 'Versions that were published through this replica',
      labelNames: ['entry_type'],
      registers,
    });
    // Prometheus sees an increase only in a series that it has scraped before.
    for (const outcome of ['hit', 'miss']) this.pages.inc({ outcome }, 0);
    for (const entry_type of ENTRY_TYPE_NAMES) this.publications.inc({ entry_type }, 0);
  }

  pageFound(): void {
    this.pages.inc({ outcome: 'hit' });
  }

  pageRead(): void {
    this.pages.inc({ outcome: 'miss' });
  }

  published(type: EntryType): void {
    this.publications.inc({ entry_type: type });
  }
}
