import { setTimeout as pause } from 'node:timers/promises';
import { Injectable } from '@nestjs/common';
import { LRUCache } from 'lru-cache';
import { hasNul } from '../database/columns.js';
import { SHARE_TIMEOUT_MS } from '../database/shared-reads.js';
import { type RegistryState, ViewsQueries } from './views.queries.js';

/** How long a batch collects requests under load; a lone request does not wait. */
const WINDOW_MS = 1;
const MAX_CACHED = 1_000;

interface Batch {
  readonly names: Set<string>;
  requests: number;
  readonly states: Promise<Map<string, RegistryState>>;
}

/**
 * Reads registries with the revisions of their sources. Requests that arrive during a query share the next one, which starts after
 * each of them: no answer is older than its request, and the cost per request falls under load.
 */
@Injectable()
export class RegistryLookup {
  private pending: Batch | undefined;
  private lastQuery: Promise<unknown> = Promise.resolve();
  /** Whether the last batch had several requests; the next one probably will, too. */
  private isBusy = false;
  private readonly states = new LRUCache<string, RegistryState>({ max: MAX_CACHED });

  constructor(private readonly queries: ViewsQueries) {}

  async find(name: string): Promise<RegistryState | undefined> {
    if (hasNul(name)) return undefined;
    const batch = (this.pending ??= this.openBatch());
    batch.names.add(name);
    batch.requests += 1;
    return (await batch.states).get(name);
  }

  /** As last read: it may have changed or been deleted since. */
  cached(name: string): RegistryState | undefined {
    return this.states.get(name);
  }

  private openBatch(): Batch {
    const names = new Set<string>();
    const states = this.lastQueryEnded().then(async () => {
      if (this.isBusy) await pause(WINDOW_MS);
      this.pending = undefined;
      this.isBusy = batch.requests > 1;
      return this.read([...names]);
    });
    this.lastQuery = states.catch(() => undefined);
    const batch: Batch = { names, requests: 0, states };
    return batch;
  }

  private async read(names: readonly string[]): Promise<Map<string, RegistryState>> {
    const states = await this.queries.registries(names);
    for (const name of names) {
      const state = states.get(name);
      if (state) this.states.set(name, state);
      else this.states.delete(name);
    }
    return states;
  }

  /** Stops waiting for a query that hangs. */
  private lastQueryEnded(): Promise<void> {
    return new Promise((resolve) => {
      const timeout = setTimeout(resolve, SHARE_TIMEOUT_MS);
      void this.lastQuery.then(() => {
        clearTimeout(timeout);
        resolve();
      });
    });
  }
}
