import type { IncomingMessage, ServerResponse } from 'node:http';
import { pathWithoutKeys } from '../config/registry-keys.js';

declare module 'node:http' {
  interface IncomingMessage {
    /** The key that stood in the path, and of which registry; see `followRegistryPaths`. */
    registryKey?: SentKey;
    /** The path as it was sent, without the query and without a key. */
    pathToLog?: string;
  }
}

export interface SentKey {
  readonly registry: string;
  readonly key: string;
}

/** How the target of a request is to be understood. */
export interface FollowedPath {
  /** As if it had been sent without a key, and to the registry's own path. */
  readonly url: string;
  readonly pathToLog: string;
  readonly registryKey?: SentKey;
}

/** RFC 9112 §3.2.2: proxies may send the whole URL. */
const TARGET = /^([a-z][a-z0-9+.-]*:\/\/[^/?#]*)?([^?#]*)(.*)$/is;
const KEY_PATH = /^\/registry\/([^/]+)\/k\/([^/]+)(\/.*)?$/s;
const ROOT_PATH = /^\/v0(\.1)?(\/|$)/;

/**
 * contract §6.1: `/registry/{name}/k/{key}/…` is `/registry/{name}/…` for whoever knows the key, and `/v0.1/…` and `/v0/…` of the
 * root are those of `rootRegistry`.
 *
 * @param target of a request, as it was sent.
 */
export function followPath(target: string, rootRegistry: string | null): FollowedPath {
  const [, authority = '', path = '', query = ''] = TARGET.exec(target) ?? [];
  const pathToLog = pathWithoutKeys(path);
  const [, name, key, rest = ''] = KEY_PATH.exec(path) ?? [];
  if (name !== undefined && key !== undefined)
    return {
      url: `${authority}/registry/${name}${rest}${query}`,
      pathToLog,
      registryKey: { registry: decoded(name), key },
    };
  const isRoot = rootRegistry !== null && ROOT_PATH.test(path);
  return { url: isRoot ? `${authority}/registry/${rootRegistry}${path}${query}` : target, pathToLog };
}

/** The same of a request, before anything else sees it: whatever keeps or logs its address must not have the key. */
export function followRegistryPaths(rootRegistry: string | null): (request: IncomingMessage) => void {
  return (request) => {
    Object.assign(request, followPath(request.url ?? '', rootRegistry));
  };
}

// One that can't be decoded is that of no registry.
function decoded(name: string): string {
  try {
    return decodeURIComponent(name);
  } catch {
    return '';
  }
}

const CONSUMER_PATH = /^(\/registry(?:\/[^?]*[^/?])?)\/(?=\?|$)/;

/** contract §6: one trailing slash is accepted by the consumer API. Comes before anything that looks at the path. */
export function dropTrailingSlash(request: IncomingMessage, _: ServerResponse, next: () => void): void {
  request.url = request.url?.replace(CONSUMER_PATH, '$1');
  next();
}
