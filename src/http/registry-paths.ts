import type { IncomingMessage, ServerResponse } from 'node:http';
import { belowRootRegistry } from '../config/root-registry.js';
import { pathWithoutKeys } from '../validation/redaction.js';

declare module 'node:http' {
  interface IncomingMessage {
    /** The key removed from the path, and its registry; see `followRegistryPaths`. */
    registryKey?: SentKey;
    /** The original path without query and key. */
    pathToLog?: string;
  }
}

interface SentKey {
  readonly registry: string;
  readonly key: string;
}

export interface FollowedPath {
  /** The request target without the key, below the registry's path. */
  readonly url: string;
  readonly pathToLog: string;
  readonly registryKey?: SentKey;
}

/** RFC 9112 §3.2.2: proxies may send the whole URL. */
const TARGET = /^([a-z][a-z0-9+.-]*:\/\/[^/?#]*)?([^?#]*)(.*)$/is;
const KEY_PATH = /^\/registry\/([^/]+)\/k\/([^/]+)(\/.*)?$/s;
const REGISTRY_PATH = /^(\/registry\/[^/]+)(\/.*)$/s;
/** reference/catalog: a base URL, with or without the version of the API, that ends in a slash. */
const DOUBLED_SLASH = /^(\/v0(?:\.1)?)?\/\/(?=(?:v0|v0\.1|x|mcp)(?:\/|$))/;

/**
 * reference/access: rewrites `/registry/{name}/k/{key}/…` to `/registry/{name}/…`, and moves `/v0.1/…` and `/v0/…` below the
 * path of `rootRegistry`. Accepts a doubled slash before `v0`, `v0.1`, `x` and `mcp`.
 *
 * @param target the original request target.
 */
export function followPath(target: string, rootRegistry: string | null): FollowedPath {
  const [, authority = '', path = '', query = ''] = TARGET.exec(target) ?? [];
  const pathToLog = pathWithoutKeys(path);
  const [, name, key, rest = ''] = KEY_PATH.exec(path) ?? [];
  if (name !== undefined && key !== undefined)
    return {
      url: `${authority}/registry/${name}${withoutDoubled(rest)}${query}`,
      pathToLog,
      registryKey: { registry: decoded(name), key },
    };
  const [, registryPath = '', below = path] = REGISTRY_PATH.exec(path) ?? [];
  const plain = withoutDoubled(below);
  if (registryPath !== '') return { url: `${authority}${registryPath}${plain}${query}`, pathToLog };
  const rooted = belowRootRegistry(plain, rootRegistry);
  return { url: rooted === plain ? target : `${authority}${rooted}${query}`, pathToLog };
}

function withoutDoubled(path: string): string {
  return path.replace(DOUBLED_SLASH, '$1/');
}

/** Rewrites each request before any other code reads it, so that no log or cache contains the key. */
export function followRegistryPaths(rootRegistry: string | null): (request: IncomingMessage) => void {
  return (request) => {
    Object.assign(request, followPath(request.url ?? '', rootRegistry));
  };
}

// Returns an empty name, which no registry has, if the percent-encoding is malformed.
function decoded(name: string): string {
  try {
    return decodeURIComponent(name);
  } catch {
    return '';
  }
}

const CONSUMER_PATH = /^(\/registry(?:\/[^?]*[^/?])?)\/(?=\?|$)/;

/** reference/catalog: the consumer API accepts one trailing slash. Runs before anything that reads the path. */
export function dropTrailingSlash(request: IncomingMessage, _: ServerResponse, next: () => void): void {
  request.url = request.url?.replace(CONSUMER_PATH, '$1');
  next();
}

/** Whether a path without key is below `/registry/{name}/git/`, where clients are Git. */
export function isGitPath(path: string): boolean {
  return /^\/registry\/[^/]+\/git\//.test(path);
}
