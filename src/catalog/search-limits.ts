import { Inject, Injectable } from '@nestjs/common';
import type { ConfigType } from '@nestjs/config';
import { limitsConfig } from '../config/slices.js';
import { ApiError } from '../http/errors.js';
import type { ListFilter } from './list-request.js';

/** contract §3: a search ends within two seconds; the rest is for cancelling its statement. */
const SEARCH_TIME_MS = 1_750;
/** Lists by version, status or time of change cannot be narrowed, so they may take longer. */
const FILTER_TIME_MS = 30_000;

/** Whether the filter of a list may match few of the versions to be examined, so that reading a page may take long. */
export function isSearch({ search, updatedSince, version, status }: ListFilter): boolean {
  return Boolean(search || updatedSince || status) || (version !== undefined && version !== 'latest');
}

/** How long a filtered list may take. */
export function searchTimeMs({ search }: ListFilter): number {
  return search ? SEARCH_TIME_MS : FILTER_TIME_MS;
}

/** Limits the concurrent searches of each caller (contract §2, `limits.searchesPerCaller`). */
@Injectable()
export class SearchLimit {
  private readonly running = new Map<string, number>();

  constructor(@Inject(limitsConfig.KEY) private readonly limits: ConfigType<typeof limitsConfig>) {}

  /**
   * Runs a search.
   *
   * @param callerKey see `Client.callerKey`.
   * @throws ApiError 429 `too_many_requests` at the limit.
   */
  async run<Result>(callerKey: string, search: () => Promise<Result>): Promise<Result> {
    const before = this.running.get(callerKey) ?? 0;
    if (before >= this.limits.searchesPerCaller)
      throw new ApiError(
        'too_many_requests',
        `You have ${this.limits.searchesPerCaller} searches running, which is the limit: wait for one to end`,
      );
    this.running.set(callerKey, before + 1);
    try {
      return await search();
    } finally {
      const after = (this.running.get(callerKey) ?? 1) - 1;
      if (after === 0) this.running.delete(callerKey);
      else this.running.set(callerKey, after);
    }
  }
}
