/**
 * An http(s) URL as it may be shown in errors and logs: origin and path. User and password are refused in configured URLs;
 * a query may hold a key all the same.
 */
export function withoutQuery(url: string | URL): string {
  const { origin, pathname } = new URL(url);
  return `${origin}${pathname}`;
}
