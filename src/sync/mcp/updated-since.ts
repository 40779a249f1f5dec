import { isStatus, type RegistryClient } from './registry-client.js';

/** Statuses by which a server says that it does not know a parameter. */
const REFUSED = [400, 422];
/** How far before the time asked for a server may round, before it counts as one that does not know the parameter. */
export const ROUNDING_MS = 60 * 60 * 1_000;
/** Nothing has been updated since. */
const FAR_FUTURE = '9999-01-01T00:00:00Z';

/** Has the upstream refused a request because it does not know one of its parameters? */
export function refusesParameter(error: unknown): boolean {
  return isStatus(error, REFUSED);
}

/**
 * Does the upstream know `updated_since`? What has not been updated since may have become visible since, as it may here. A registry that
 * passes the parameter over shows everything at any time.
 */
export async function knowsUpdatedSince(client: RegistryClient): Promise<boolean> {
  try {
    const pages = client.list('servers', 'servers', { updated_since: FAR_FUTURE });
    for await (const { elements } of pages) return elements.length === 0;
  } catch (error) {
    if (!refusesParameter(error)) throw error;
  }
  return false;
}
