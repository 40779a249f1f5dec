import { createHash } from 'node:crypto';

/** Agent Plugins 1.0 §5.5 (https://agent-plugins.org/specification). */
const MAX_LENGTH = 64;
const KEPT_CHARACTERS = 55;
const DIGEST_DIGITS = 8;

/**
 * Returns the name by which clients install a plugin or skill (reference/marketplace): valid in Agent Plugins 1.0 and
 * in every client, and dependent only on the entry's name. It is in lower case, because some file systems ignore case.
 *
 * @param name `namespace/name`.
 */
export function pluginNameOf(name: string): string {
  const plain = name.toLowerCase().replaceAll(/[^a-z0-9]+/g, '-');
  if (plain.length <= MAX_LENGTH) return plain;
  const digest = createHash('sha256').update(plain).digest('hex').slice(0, DIGEST_DIGITS);
  return `${plain.slice(0, KEPT_CHARACTERS).replace(/-$/, '')}-${digest}`;
}
