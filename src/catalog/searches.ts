import { Inject, Injectable } from '@nestjs/common';
import type { ConfigType } from '@nestjs/config';
import type { Caller } from '../auth/caller.js';
import type { Client } from '../auth/client.js';
import { limitsConfig } from '../config/slices.js';
import { ApiError } from '../http/errors.js';

/** Counts the searches that are under way for each caller (contract §2, `limits.searchesPerCaller`). */
@Injectable()
export class Searches {
  private readonly underWay = new Map<string, number>();

  constructor(@Inject(limitsConfig.KEY) private readonly limits: ConfigType<typeof limitsConfig>) {}

  /**
   * Runs a search of a caller.
   *
   * @throws ApiError 429 while as many others of the same caller are under way.
   */
  async run<Result>(caller: Caller, client: Client, search: () => Promise<Result>): Promise<Result> {
    const key = searcher(caller, client);
    const before = this.underWay.get(key) ?? 0;
    if (before >= this.limits.searchesPerCaller)
      throw new ApiError(
        'too_many_requests',
        `No more than ${this.limits.searchesPerCaller} searches of one caller run at a time: wait for one to end`,
      );
    this.underWay.set(key, before + 1);
    try {
      return await search();
    } finally {
      const after = (this.underWay.get(key) ?? 1) - 1;
      if (after === 0) this.underWay.delete(key);
      else this.underWay.set(key, after);
    }
  }
}

/** Who a token names, or else the client. A subject is unique within its issuer only (RFC 7519 §4.1.2). */
function searcher({ subject, claims }: Caller, { address }: Client): string {
  return subject === null ? address : JSON.stringify([claims['iss'], subject]);
}
