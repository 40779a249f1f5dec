import { timingSafeEqual } from 'node:crypto';
import { isExpired, isKey, keyDigest, type RegistryKey } from '../config/registry-keys.js';

/**
 * The key of a registry that was sent in place of a token, if it is one of these and has not expired (contract §6.1). All are compared,
 * each in the same time whatever is sent: how long it takes tells nothing of a key.
 */
export function matchingKey(keys: readonly RegistryKey[], sent: string): RegistryKey | undefined {
  const digest = Buffer.from(keyDigest(sent));
  const now = Date.now();
  let matching: RegistryKey | undefined;
  for (const key of keys) {
    const known = Buffer.from(key.digest);
    if (known.length === digest.length && timingSafeEqual(known, digest) && !isExpired(key, now))
      matching = key;
  }
  return isKey(sent) ? matching : undefined;
}
