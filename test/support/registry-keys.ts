import { randomBytes } from 'node:crypto';
import { keepSecret } from './secrets.js';

/** A key as an operator makes one. No part of it may appear in output. */
export function aKey(): string {
  const key = randomBytes(32).toString('base64url');
  // Registered like a token's payload, so that even parts of it are found.
  keepSecret(`key.${key}`);
  return keepSecret(key);
}
