import type { LookupAddress } from 'node:dns';
import { isIP, type LookupFunction } from 'node:net';
import { promisify } from 'node:util';
import ipaddr from 'ipaddr.js';
import { isLoopbackHost } from '../validation/urls.js';
import { type ResolveAll, resolveApart } from './name-resolution.js';

/** RFC 4291 §2.5.5.1: deprecated. ipaddr.js classifies these addresses by their IPv4 part. */
const IPV4_COMPATIBLE = ipaddr.IPv6.parseCIDR('::/96');

/**
 * Returns whether an address is not public, such as a private, loopback, link-local or multicast address. Covers all
 * special-purpose ranges (RFC 6890), including IPv6 ranges that embed an IPv4 address (NAT64, 6to4, Teredo).
 * IPv4-mapped addresses are treated as IPv4. Text that is not an IP address counts as private.
 */
function isPrivateAddress(address: string): boolean {
  if (isIP(address) === 0) return true;
  const parsed = ipaddr.process(address);
  if (parsed instanceof ipaddr.IPv6 && parsed.match(IPV4_COMPATIBLE)) return true;
  return parsed.range() !== 'unicast';
}

/** Thrown when a connection to a private, loopback or link-local address is refused. */
export class PrivateAddressError extends Error {
  override readonly name = 'PrivateAddressError';

  constructor(hostname: string) {
    super(`${hostname} is at a private address, which is not allowed here`);
  }
}

/** Thrown when a connection that must be to a private address would be to a public one. */
export class PublicAddressError extends Error {
  override readonly name = 'PublicAddressError';
}

/**
 * Error codes for a host that accepts no connection; all codes of name resolution begin with `EAI_` or are listed here.
 */
const UNREACHABLE_CODES = ['ENOTFOUND', 'ECONNREFUSED', 'EHOSTUNREACH', 'ENETUNREACH', 'EHOSTDOWN'];

/** Thrown for a name that resolves to no address of the wanted family. */
class NoAddressError extends Error {
  override readonly name = 'NoAddressError';
}

/** Returns whether a request failed before a connection was made, for any reason except a timeout. */
export function isUnreachable(error: unknown): boolean {
  if (error instanceof PrivateAddressError || error instanceof NoAddressError) return true;
  const { code } = (error ?? {}) as { readonly code?: unknown };
  return typeof code === 'string' && (code.startsWith('EAI_') || UNREACHABLE_CODES.includes(code));
}

/**
 * Replaces the reason for a failure in everything that callers see, if private addresses are not allowed. Otherwise
 * callers could find out which names exist in the internal network.
 */
export const UNREACHABLE =
  'its host is unknown, at a private address, or refuses connections; the server log has the cause';

/** The addresses to which connections may go. */
export type AddressReach = 'public' | 'private' | 'any';

/**
 * Returns a `lookup` for connections. It runs for each new connection, and the connection uses the address it returns, so
 * changing the DNS record later (DNS rebinding) has no effect. For `public`, a name is refused if any of its addresses is
 * private, because the connection might use that address; for `private`, only the private addresses are used.
 */
export function lookupFor(reach: AddressReach, resolve: ResolveAll = resolveApart): LookupFunction {
  return (hostname, options, done) => {
    resolve(hostname, (error, addresses) => {
      const found = addresses.filter(
        ({ address, family }) =>
          (!options.family || options.family === family || options.family === `IPv${family}`) &&
          (reach !== 'private' || isPrivateAddress(address)),
      );
      const [first] = found;
      if (error) done(error, '', 0);
      else if (reach === 'public' && addresses.some(({ address }) => isPrivateAddress(address)))
        done(new PrivateAddressError(hostname), '', 0);
      else if (reach === 'private' && !first && addresses.length > 0) done(new PublicAddressError(), '', 0);
      else if (!first) done(new NoAddressError(`${hostname} has no address`), '', 0);
      else if (options.all) done(null, found);
      else done(null, first.address, first.family);
    });
  };
}

/**
 * Resolves a host to which another program will connect. That program must use the returned addresses and must not
 * resolve the name again.
 *
 * @param host the host as it appears in a URL, with brackets around an IPv6 address.
 * @returns an empty list if the host is itself a public address.
 * @throws PrivateAddressError, or the resolver's error when the name has no address.
 */
export async function publicAddresses(host: string, resolve?: ResolveAll): Promise<LookupAddress[]> {
  checkLiteralAddress(new URL(`http://${host}`));
  if (isIP(withoutBrackets(host)) !== 0) return [];
  const found = await promisify(lookupFor('public', resolve))(host, { all: true });
  return typeof found === 'string' ? [] : found;
}

/**
 * Refuses a URL whose host is a private address or `localhost`. The lookup does not catch these hosts: Node connects to
 * an address without a lookup, and a proxy resolves names itself.
 *
 * @throws PrivateAddressError
 */
export function checkLiteralAddress(url: URL): void {
  const host = withoutBrackets(url.hostname);
  const isPrivate = isIP(host) === 0 ? isLoopbackHost(host.replace(/\.+$/, '')) : isPrivateAddress(host);
  if (isPrivate) throw new PrivateAddressError(host);
}

/** Names that public DNS does not resolve (RFC 6761, RFC 6762, RFC 8375, Kubernetes); others are known only by resolution. */
const PRIVATE_NAME = /^[^.]+$|\.(local|localhost|localdomain|internal|intranet|lan|svc|home\.arpa)$/i;

/** Returns whether a host is certainly or probably private, without resolving it. */
export function looksPrivate({ hostname }: URL): boolean {
  const host = withoutBrackets(hostname).replace(/\.+$/, '');
  return isIP(host) === 0 ? PRIVATE_NAME.test(host) : isPrivateAddress(host);
}

function withoutBrackets(host: string): string {
  return host.replace(/^\[|\]$/g, '');
}
