import { useEffect, useState } from 'preact/hooks';

/** Path and query in the URL hash, which is independent of the server and any prefix. */
export interface Route {
  readonly path: readonly string[];
  readonly query: URLSearchParams;
}

/** Path segment of the form for a new source or registry; no name contains a `+`. */
export const NEW_NAME = '+new';

export function parseHash(hash: string): Route {
  const [path = '', query = ''] = hash.replace(/^#\/?/, '').split(/\?(.*)/s);
  return { path: path.split('/').filter(Boolean).map(decode), query: new URLSearchParams(query) };
}

/** Builds a hash; omits empty query values. */
export function hashOf(path: readonly string[], query: Readonly<Record<string, string>> = {}): string {
  const present = Object.entries(query).filter(([, value]) => value !== '');
  const text = present.length > 0 ? `?${new URLSearchParams(present).toString()}` : '';
  return `#/${path.map(encodeURIComponent).join('/')}${text}`;
}

/** `#/catalogue/{registry}/{type}/{name}[/{version}]` */
export function entryHash(
  registry: string,
  { type, name }: { readonly type: string; readonly name: string },
  version?: string,
): string {
  return hashOf(['catalogue', registry, type, name, ...(version === undefined ? [] : [version])]);
}

/** The last search that the user left, which entry pages link back to; null after a list without a search. */
let results: string | null = null;

export function rememberResults(hash: string | null): void {
  results = hash;
}

export function lastResults(): string | null {
  return results;
}

export function navigate(hash: string): void {
  location.hash = hash;
}

/** Changes the hash without adding a history entry. */
export function replaceHash(hash: string): void {
  history.replaceState(null, '', hash);
  window.dispatchEvent(new HashChangeEvent('hashchange'));
}

export function useRoute(): Route {
  const [route, setRoute] = useState(() => parseHash(location.hash));
  useEffect(() => {
    const follow = () => setRoute(parseHash(location.hash));
    window.addEventListener('hashchange', follow);
    return () => window.removeEventListener('hashchange', follow);
  }, []);
  return route;
}

function decode(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}
