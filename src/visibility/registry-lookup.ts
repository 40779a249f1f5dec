import { setTimeout as pause } from 'node:timers/promises';
import { Injectable } from '@nestjs/common';
import { LRUCache } from 'lru-cache';
import { isStorable, type StorableText } from '../validation/storable-text.js';
import { type RegistryState, ViewsQueries } from './views.queries.js';

/** Limit on cached registries, in characters of their claims, keys and revisions. */
const MAX_CACHED_CHARACTERS = 16 * 1_024 * 1_024;

/** Maximum wait for a running query, whose connection may be hanging. */
const PATIENCE_MS = 2_000;

/**
 * Reads registries with the revisions of their sources, and keeps the last state of each. Requests for a registry that arrive
 * during a query share the next one. It starts after all of them have arrived, so no result is older than its request.
 */
@Injectable()
export class RegistryLookup {
  /** The last query of each registry. */
  private readonly running = new Map<string, Promise<unknown>>();
  /** The query that begins when the last one ends. */
  private readonly next = new Map<string, Promise<RegistryState | undefined>>();
  private readonly states = new LRUCache<string, RegistryState>({
    maxSize: MAX_CACHED_CHARACTERS,
    sizeCalculation: ({ size, revisions }) => 500 + size + 3 * revisions.length,
  });

  constructor(private readonly queries: ViewsQueries) {}

  async find(name: string): Promise<RegistryState | undefined> {
    if (!isStorable(name)) return undefined;
    const next = this.next.get(name) ?? this.readNext(name);
    this.next.set(name, next);
    return next;
  }

  /** Returns the registry as last read; it may have changed or been deleted since. */
  cached(name: string): RegistryState | undefined {
    return this.states.get(name);
  }

  private async readNext(name: StorableText): Promise<RegistryState | undefined> {
    const running = this.running.get(name);
    await (running && Promise.race([running, pause(PATIENCE_MS, undefined, { ref: false })]));
    this.next.delete(name);
    const read = this.queries.registry(name);
    const ended = read
      .catch(() => undefined)
      .then(() => {
        if (this.running.get(name) === ended) this.running.delete(name);
      });
    this.running.set(name, ended);
    const state = await read;
    if (state) this.states.set(name, state);
    else this.states.delete(name);
    return state;
  }
}
