import { randomBytes } from 'node:crypto';
import { keepSecret } from './secrets.js';

/** A key as an operator makes one. No part of it may turn up anywhere. */
export function aKey(): string {
  const key = randomBytes(32).toString('base64url');
  // Searched for in pieces, as the parts of a token behind its header are.
  keepSecret(`key.${key}`);
  return keepSecret(key);
}
