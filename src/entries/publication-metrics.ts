import { Injectable } from '@nestjs/common';
import { Counter } from 'prom-client';
import { ENTRY_TYPE_NAMES, type EntryType } from '../documents/entry-types.js';
import { Metrics } from '../telemetry/metrics.js';

/** Counts publications on this replica. */
@Injectable()
export class PublicationMetrics {
  private readonly publications: Counter<'entry_type'>;

  constructor({ register }: Metrics) {
    this.publications = new Counter({
      name: 'registry_publications_total',
      help: 'Versions published through this replica',
      labelNames: ['entry_type'],
      registers: [register],
    });
    // Prometheus sees increases only in series that it has scraped before.
    for (const entry_type of ENTRY_TYPE_NAMES) this.publications.inc({ entry_type }, 0);
  }

  published(type: EntryType): void {
    this.publications.inc({ entry_type: type });
  }
}
