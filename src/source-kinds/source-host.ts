import { member } from '../json/json-values.js';
import { parseHttpUrl } from '../validation/urls.js';
import { parseGitRepository } from './git-repository.js';
import { KINDS, type SourceKind } from './kinds.js';

/**
 * The host that a source is read from, and that is told its credentials: in lower case, an IPv6 address in brackets.
 *
 * @param settings of that kind, as they are stored.
 * @returns null when it is read from no other host.
 */
export function hostOf(kind: SourceKind, settings: unknown): string | null {
  const { address } = KINDS[kind];
  const value = address === null ? undefined : member(settings, address);
  const url = parseHttpUrl(value);
  if (url) return url.hostname;
  const repository = parseGitRepository(value);
  return repository?.protocol === 'ssh' ? repository.host.toLowerCase() : null;
}
