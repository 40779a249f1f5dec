import { MAX_URL_LENGTH, parseHttpUrl } from '../validation/urls.js';

export type GitRepository = HttpRepository | SshRepository;

export interface HttpRepository {
  readonly protocol: 'http' | 'https';
  readonly url: URL;
}

export interface SshRepository {
  readonly protocol: 'ssh';
  /** The configured address. */
  readonly url: string;
  readonly host: string;
  readonly port: number;
}

// Excludes anything that ssh could parse as an option, or that a shell could parse as more than a path.
const USER = '[A-Za-z0-9_][A-Za-z0-9_.-]*';
const HOST = '[A-Za-z0-9](?:[A-Za-z0-9.-]*[A-Za-z0-9])?';
const PATH = '[A-Za-z0-9_~./+@%=,-]*';
const SSH_URL = new RegExp(`^ssh://(?:${USER}@)?(?<host>${HOST})(?::(?<port>[1-9]\\d{0,4}))?/${PATH}$`);
const SSH_SHORT = new RegExp(`^${USER}@(?<host>${HOST}):[A-Za-z0-9_~./]${PATH}$`);

/**
 * Parses a supported repository address: `http(s)://…` without user and password, `ssh://user@host:port/path` or
 * `user@host:path`. Other Git transports are refused, because some of them run programs.
 */
export function parseGitRepository(value: unknown): GitRepository | undefined {
  if (typeof value !== 'string' || value.length > MAX_URL_LENGTH) return undefined;
  const groups = (SSH_URL.exec(value) ?? SSH_SHORT.exec(value))?.groups;
  if (groups) {
    const port = Number(groups['port'] ?? 22);
    return port < 65_536 ? { protocol: 'ssh', url: value, host: groups['host'] ?? '', port } : undefined;
  }
  const url = parseHttpUrl(value);
  if (!url || url.username !== '' || url.password !== '' || /[?#]/.test(value)) return undefined;
  return { protocol: url.protocol === 'https:' ? 'https' : 'http', url };
}

/** The host and path of a repository, for comparing addresses. */
interface RepositoryPlace {
  readonly host: string;
  /** Includes the port, unless it is the default one. */
  readonly hostAndPort: string;
  /** The path without leading and trailing slashes and without `.git`. */
  readonly path: string;
}

/** Returns undefined if the text is not a repository address. */
export function placeOfRepository(address: string): RepositoryPlace | undefined {
  const repository = parseGitRepository(address);
  if (!repository) return undefined;
  if (repository.protocol !== 'ssh') {
    const { hostname, host, pathname } = repository.url;
    return { host: hostname, hostAndPort: host, path: trimmed(pathname) };
  }
  const host = repository.host.toLowerCase();
  const path = /^ssh:/.test(address) ? new URL(address).pathname : address.slice(address.indexOf(':') + 1);
  return { host, hostAndPort: host, path: trimmed(path) };
}

function trimmed(path: string): string {
  return path.replaceAll(/^\/+|\/+$/g, '').replace(/\.git$/, '');
}

/** Whether two addresses refer to the same repository, even over different protocols. */
export function isSameRepository(one: string, other: string): boolean {
  const [a, b] = [placeOfRepository(one), placeOfRepository(other)];
  if (!a || !b || a.path !== b.path) return false;
  const isSsh = [one, other].some((address) => parseGitRepository(address)?.protocol === 'ssh');
  return isSsh ? a.host === b.host : a.hostAndPort === b.hostAndPort;
}

/** Returns the address as a web URL for use in documents; undefined if the text is not a repository address. */
export function webAddressOf(address: string): string | undefined {
  const repository = parseGitRepository(address);
  if (repository?.protocol !== 'ssh') return repository?.url.href;
  const place = placeOfRepository(address);
  return place && `https://${place.host}/${place.path}`;
}
