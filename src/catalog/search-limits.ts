import { Inject, Injectable } from '@nestjs/common';
import type { ConfigType } from '@nestjs/config';
import { limitsConfig } from '../config/slices.js';
import { ApiError } from '../http/errors.js';
import { Quota } from '../limits/quota.js';
import type { ListFilter } from './list-request.js';

/** contract §3: a search ends within two seconds, including the time to cancel its statement. */
const SEARCH_TIME_MS = 1_750;
/** Time limit for lists with other filters, which may take longer. */
const FILTER_TIME_MS = 30_000;

/** Returns whether a list may read many more versions than it returns and may therefore be slow. */
export function isSearch({ search, updatedSince, version, status }: ListFilter): boolean {
  return Boolean(search || updatedSince || status) || (version !== undefined && version !== 'latest');
}

/** Returns the time limit for a list that `isSearch` accepts, in milliseconds. */
export function searchTimeMs({ search }: ListFilter): number {
  return search ? SEARCH_TIME_MS : FILTER_TIME_MS;
}

/** Limits concurrent searches per caller (contract §2, `limits.searchesPerCaller`). */
@Injectable()
export class SearchLimit {
  private readonly quota: Quota;

  constructor(@Inject(limitsConfig.KEY) private readonly limits: ConfigType<typeof limitsConfig>) {
    this.quota = new Quota({ perKey: limits.searchesPerCaller });
  }

  /** @throws ApiError 429 `too_many_requests` while the caller has `searchesPerCaller` searches running. */
  async run<Result>(callerKey: string, search: () => Promise<Result>): Promise<Result> {
    if (!this.quota.tryAcquire(callerKey))
      throw new ApiError(
        'too_many_requests',
        `A caller may run at most ${this.limits.searchesPerCaller} searches at once: wait until one ends`,
      );
    try {
      return await search();
    } finally {
      this.quota.release(callerKey);
    }
  }
}
