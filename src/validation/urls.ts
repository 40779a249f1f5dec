import { isIPv4 } from 'node:net';

/** The maximum length of every URL from callers or documents. Parsing and rewriting longer ones takes seconds. */
export const MAX_URL_LENGTH = 2_048;

/**
 * Returns the problem with an http(s) URL, or undefined.
 *
 * @param bare forbids a query and a fragment.
 */
export function urlProblem(text: string, { bare = false } = {}): string | undefined {
  if (text.length > MAX_URL_LENGTH) return `must have at most ${MAX_URL_LENGTH} characters`;
  const url = parseHttpUrl(text);
  if (!url) return 'must be an http:// or https:// URL';
  if (url.username !== '' || url.password !== '') return 'must not contain a user or a password';
  return bare && /[?#]/.test(text) ? 'must not have a query or a fragment' : undefined;
}

/**
 * @returns undefined for anything but an absolute http(s) URL of at most 2,048 characters, including text that URL() would
 *   silently repair.
 */
export function parseHttpUrl(value: unknown): URL | undefined {
  if (typeof value !== 'string' || value.length > MAX_URL_LENGTH) return undefined;
  if (!/^https?:\/\/[^/\\\s]+[^\s\\]*$/i.test(value) || !value.isWellFormed()) return undefined;
  return URL.canParse(value) ? new URL(value) : undefined;
}

/** Normalizes a host name or address without scheme, port or path; undefined for anything else. */
export function parseHost(value: unknown): string | undefined {
  if (typeof value !== 'string' || !/^([^\s/\\?#@:[\]%*]+|\[[0-9a-f:.]+\])$/i.test(value)) return undefined;
  return parseHttpUrl(`http://${value}`)?.hostname;
}

/** Normalizes a host with an optional port, such as `git.example.com:8443`; undefined for anything else. */
export function parseHostAndPort(value: unknown): string | undefined {
  const [, name, port] = /^(.+?)(?::(\d{1,5}))?$/.exec(typeof value === 'string' ? value : '') ?? [];
  const known = parseHost(name);
  if (known === undefined || port === undefined) return known;
  return Number(port) >= 1 && Number(port) <= 65_535 ? `${known}:${Number(port)}` : undefined;
}

/** Whether requests to the URL cross a network unencrypted: `http:` to another machine. */
export function isInsecure(url: URL): boolean {
  return url.protocol === 'http:' && !isLoopbackHost(url.hostname);
}

/** Whether the host is always this machine: `localhost` and names below it (RFC 6761 §6.3), 127.0.0.0/8, `[::1]`. */
export function isLoopbackHost(host: string): boolean {
  const name = host.toLowerCase();
  if (name === 'localhost' || name.endsWith('.localhost') || name === '[::1]') return true;
  return isIPv4(name) && name.startsWith('127.');
}

/** Whether this is an http or https origin as browsers send it: no path, no trailing slash, no default port. */
export function isHttpOrigin(text: string): boolean {
  return parseHttpUrl(text)?.origin === text;
}
