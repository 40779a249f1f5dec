import { useEffect, useState } from 'preact/hooks';

/** Where somebody is: what stands behind the `#`, which the server never sees and no prefix changes. */
export interface Route {
  readonly path: readonly string[];
  readonly query: URLSearchParams;
}

export function parseHash(hash: string): Route {
  const [path = '', query = ''] = hash.replace(/^#\/?/, '').split(/\?(.*)/s);
  return { path: path.split('/').filter(Boolean).map(decoded), query: new URLSearchParams(query) };
}

/** The address of a place; empty values of the query are left out. */
export function hashOf(path: readonly string[], query: Readonly<Record<string, string>> = {}): string {
  const given = Object.entries(query).filter(([, value]) => value !== '');
  const text = given.length > 0 ? `?${new URLSearchParams(given).toString()}` : '';
  return `#/${path.map(encodeURIComponent).join('/')}${text}`;
}

export function goTo(hash: string): void {
  location.hash = hash;
}

/** The same place with another query, in place of what the back button would lead to. */
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

function decoded(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}
