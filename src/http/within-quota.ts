import type { Quota } from '../limits/quota.js';
import { ApiError } from './errors.js';

/**
 * Runs `work`, which counts toward a quota until it ends.
 *
 * @param tooMany sentence for a key that has used up its own limit.
 * @throws ApiError 429 `too_many_requests` for such a key; 503 `overloaded` if all keys together have used up the
 *   total.
 */
export async function withinQuota<Result>(
  quota: Quota,
  key: string,
  work: () => Promise<Result>,
  tooMany?: string,
): Promise<Result> {
  if (quota.isUsedUpBy(key)) throw new ApiError('too_many_requests', tooMany);
  if (!quota.tryAcquire(key)) throw new ApiError('overloaded');
  try {
    return await work();
  } finally {
    quota.release(key);
  }
}
