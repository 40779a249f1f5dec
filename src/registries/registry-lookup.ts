import { Injectable } from '@nestjs/common';
import { isStorable } from '../database/storable.js';
import { RegistriesQueries, type RegistryRow } from './registries.queries.js';

/** The requests that wait for one look at the database. */
interface Batch {
  readonly names: Set<string>;
  readonly found: Promise<Map<string, RegistryRow>>;
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

  constructor(private readonly queries: RegistriesQueries) {}

  async find(name: string): Promise<RegistryRow | undefined> {
    if (!isStorable(name)) return undefined;
    this.gathering ??= this.gather();
    const { names, found } = this.gathering;
    names.add(name);
    return (await found).get(name);
  }

  private gather(): Batch {
    const names = new Set<string>();
    const found = this.underWay.then(() => {
      this.gathering = undefined;
      return this.queries.findByNames([...names]);
    });
    this.underWay = found.catch(() => undefined);
    return { names, found };
  }
}
