import { api, unwrap } from '../api/client.js';
import type { EntryType, FoundEntry } from '../api/types.js';

const MAX_FOUND = 50;

/** Returns the search token of a package. For an image, the token matches any tag. */
export function tokenOf({
  registryType,
  identifier,
}: {
  readonly registryType: string;
  readonly identifier: string;
}): string {
  const name = registryType === 'oci' ? identifier.replace(/@.*$/, '').replace(/:[^:/]*$/, '') : identifier;
  return `${registryType}:${name}`;
}

/**
 * Returns the distinct entries of a registry that contain one of these members. Searches one at a time, because each
 * caller may run only a few.
 */
export async function entriesWith(
  registry: string,
  tokens: readonly string[],
  type: EntryType | undefined,
  signal: AbortSignal,
): Promise<FoundEntry[]> {
  const found = new Map<string, FoundEntry>();
  for (const contains of new Set(tokens)) {
    const query = { contains, limit: MAX_FOUND, ...(type ? { type } : {}) };
    const search = api.GET('/registry/{registry}/v0.1/x/search', {
      params: { path: { registry }, query },
      signal,
    });
    for (const entry of (await unwrap(search)).items) found.set(`${entry.type} ${entry.name}`, entry);
  }
  return [...found.values()];
}
