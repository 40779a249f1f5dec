import { Inject, Injectable } from '@nestjs/common';
import type { ConfigType } from '@nestjs/config';
import { limitsConfig } from '../config/slices.js';
import { ApiError } from '../http/errors.js';
import type { ListFilter } from './list-request.js';

/** contract §3: a search has ended within two seconds. This leaves some to cancel what still runs. */
const SEARCH_TIME_MS = 1_750;
/** There is no shorter way to ask for what has another version or status, or has changed since: that goes on for longer. */
const FILTER_TIME_MS = 30_000;

/**
 * Whether a list shows few versions of what it has to look through, perhaps none: however many there are that it does not show,
 * it may take long.
 */
export function isSearch({ search, updatedSince, version, status }: ListFilter): boolean {
  return Boolean(search || updatedSince || status) || (version !== undefined && version !== 'latest');
}

/** How long a list may take that has to look through much: a search, or one with another filter. */
export function searchTimeMs({ search }: ListFilter): number {
  return search ? SEARCH_TIME_MS : FILTER_TIME_MS;
}

/** Counts the searches that are under way for each caller (contract §2, `limits.searchesPerCaller`). */
@Injectable()
export class SearchLimit {
  private readonly underWay = new Map<string, number>();

  constructor(@Inject(limitsConfig.KEY) private readonly limits: ConfigType<typeof limitsConfig>) {}

  /**
   * Runs a search of a caller.
   *
   * @param callerKey see `Client.callerKey`.
   * @throws ApiError 429 while as many others of the same caller are under way.
   */
  async run<Result>(callerKey: string, search: () => Promise<Result>): Promise<Result> {
    const before = this.underWay.get(callerKey) ?? 0;
    if (before >= this.limits.searchesPerCaller)
      throw new ApiError(
        'too_many_requests',
        `No more than ${this.limits.searchesPerCaller} searches of one caller run at a time: wait for one to end`,
      );
    this.underWay.set(callerKey, before + 1);
    try {
      return await search();
    } finally {
      const after = (this.underWay.get(callerKey) ?? 1) - 1;
      if (after === 0) this.underWay.delete(callerKey);
      else this.underWay.set(callerKey, after);
    }
  }
}
