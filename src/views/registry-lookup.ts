import { setTimeout as pause } from 'node:timers/promises';
import { Injectable } from '@nestjs/common';
import { PATIENCE_MS } from '../database/shared-reads.js';
import { isStorable } from '../database/storable.js';
import { type RegistryState, ViewsQueries } from './views.queries.js';

/** How long requests gather while several come at once; one that comes alone does not wait. */
const GATHERING_MS = 1;

/** The requests that wait for one look at the database. */
interface Batch {
  readonly names: Set<string>;
  requests: number;
  readonly found: Promise<Map<string, RegistryState>>;
}

/**
 * Finds the registries that consumers enter, with the revisions of their sources. Requests that come in while a look at the
 * database is under way share the next one: it begins after each of them did, so no answer is older than its request, on
 * any replica, and the busier the server is the less it costs.
 */
@Injectable()
export class RegistryLookup {
  private gathering: Batch | undefined;
  private underWay: Promise<unknown> = Promise.resolve();
  /** Whether the last look was shared: then the next one will be as well. */
  private isBusy = false;

  constructor(private readonly queries: ViewsQueries) {}

  async find(name: string): Promise<RegistryState | undefined> {
    if (!isStorable(name)) return undefined;
    const batch = (this.gathering ??= this.gather());
    batch.names.add(name);
    batch.requests += 1;
    return (await batch.found).get(name);
  }

  private gather(): Batch {
    const names = new Set<string>();
    const found = this.lastLook().then(async () => {
      if (this.isBusy) await pause(GATHERING_MS);
      this.gathering = undefined;
      this.isBusy = batch.requests > 1;
      return this.queries.registries([...names]);
    });
    this.underWay = found.catch(() => undefined);
    const batch: Batch = { names, requests: 0, found };
    return batch;
  }

  private lastLook(): Promise<void> {
    return new Promise((resolve) => {
      const patience = setTimeout(resolve, PATIENCE_MS);
      void this.underWay.then(() => {
        clearTimeout(patience);
        resolve();
      });
    });
  }
}
