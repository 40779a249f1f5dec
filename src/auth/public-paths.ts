/**
 * Is this path one of those a token may be absent from (spec §5.3)? Compared by whole, decoded segments; a pattern that
 * ends in `/*` matches everything below. A path that can't be decoded is not public.
 *
 * @param path as it was sent, percent-encoded, without the query.
 */
export function isPublicPath(path: string, patterns: readonly string[]): boolean {
  if (patterns.length === 0) return false;
  const segments = decode(path);
  // Express does not resolve dots, but something behind a public path might.
  if (!segments || segments.some((segment) => segment === '.' || segment === '..')) return false;
  return patterns.some((pattern) => {
    const expected = pattern.split('/');
    if (expected.at(-1) !== '*') return sameSegments(segments, expected);
    return (
      segments.length >= expected.length &&
      sameSegments(segments.slice(0, expected.length - 1), expected.slice(0, -1))
    );
  });
}

function decode(path: string): string[] | null {
  try {
    return path.split('/').map(decodeURIComponent);
  } catch {
    return null;
  }
}

function sameSegments(one: readonly string[], other: readonly string[]): boolean {
  return one.length === other.length && one.every((segment, position) => segment === other[position]);
}
