import { pathWithoutKeys } from '../config/registry-keys.js';

/**
 * An http(s) URL as it may be shown in errors, logs and the audit trail: origin and path. User and password are refused in
 * configured URLs; a query may hold a key all the same, and the path that of a registry that is read by one.
 */
export function withoutQuery(url: string | URL): string {
  const { origin, pathname } = new URL(url);
  return `${origin}${pathWithoutKeys(pathname)}`;
}
