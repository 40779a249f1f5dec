import { Inject, Injectable } from '@nestjs/common';
import type { ConfigType } from '@nestjs/config';
import { limitsConfig } from '../config/slices.js';
import { ApiError } from '../http/errors.js';
import { Semaphore, SemaphoreTimeout } from '../limits/semaphore.js';

/** reference/search: how long a search waits while its caller has `searchesPerCaller` searches running. */
const WAIT_MS = 2_000;
/** Maximum number of waiting searches per caller; each is a request that holds memory. */
const MAX_WAITING = 50;

/** The searches of one caller, running and waiting. */
interface CallerSearches {
  readonly semaphore: Semaphore;
  count: number;
}

/** Limits concurrent searches per caller (reference/configuration, `limits.searchesPerCaller`). */
@Injectable()
export class SearchLimit {
  private readonly callers = new Map<string, CallerSearches>();

  constructor(@Inject(limitsConfig.KEY) private readonly limits: ConfigType<typeof limitsConfig>) {}

  /**
   * Runs a search once fewer than `searchesPerCaller` searches of the caller are running, the oldest first.
   *
   * @param signal aborts when the client disconnects.
   * @throws ApiError 429 `too_many_requests` after two seconds, or immediately if too many searches of the caller wait.
   */
  async run<Result>(callerKey: string, signal: AbortSignal, search: () => Promise<Result>): Promise<Result> {
    const { searchesPerCaller } = this.limits;
    const own = this.callers.get(callerKey) ?? {
      semaphore: new Semaphore(searchesPerCaller, WAIT_MS),
      count: 0,
    };
    if (own.count >= searchesPerCaller + MAX_WAITING) throw this.tooMany();
    this.callers.set(callerKey, own);
    own.count += 1;
    try {
      const release = await own.semaphore.acquire(callerKey, signal).catch((error: unknown) => {
        throw error instanceof SemaphoreTimeout ? this.tooMany() : error;
      });
      try {
        return await search();
      } finally {
        release();
      }
    } finally {
      own.count -= 1;
      if (own.count === 0) this.callers.delete(callerKey);
    }
  }

  private tooMany(): ApiError {
    return new ApiError(
      'too_many_requests',
      `A caller may run at most ${this.limits.searchesPerCaller} concurrent searches: wait until one ends`,
    );
  }
}
