import { type LookupAddress, lookup as systemLookup } from 'node:dns';
import { BlockList, isIP, type LookupFunction } from 'node:net';
import { isLoopbackHost } from '../validation/urls.js';

/** Ranges without public services: RFC 6890 and its IPv6 counterparts, multicast and the reserved rest. */
const IPV4 = [
  ['0.0.0.0', 8],
  ['10.0.0.0', 8],
  ['100.64.0.0', 10],
  ['127.0.0.0', 8],
  ['169.254.0.0', 16],
  ['172.16.0.0', 12],
  ['192.0.0.0', 24],
  ['192.0.2.0', 24],
  ['192.168.0.0', 16],
  ['198.18.0.0', 15],
  ['198.51.100.0', 24],
  ['203.0.113.0', 24],
  ['224.0.0.0', 4],
  ['240.0.0.0', 4],
] as const;
// 64:ff9b::/96 (NAT64), ::ffff:0:0:0/96 (SIIT, RFC 7915), 2002::/16 (6to4) and 2001::/32 (Teredo) carry an IPv4 address that could be a private one.
const IPV6 = [
  ['::', 96],
  ['::ffff:0:0:0', 96],
  ['64:ff9b::', 96],
  ['64:ff9b:1::', 48],
  ['100::', 64],
  ['2001::', 32],
  ['2001:db8::', 32],
  ['2002::', 16],
  ['fc00::', 7],
  ['fe80::', 10],
  ['fec0::', 10],
  ['ff00::', 8],
] as const;

const PRIVATE = new BlockList();
for (const [network, prefix] of IPV4) PRIVATE.addSubnet(network, prefix, 'ipv4');
for (const [network, prefix] of IPV6) PRIVATE.addSubnet(network, prefix, 'ipv6');

/** Is this an address of no public service? Text that is no IP address counts as private: unknown means no. */
export function isPrivateAddress(address: string): boolean {
  const family = isIP(address);
  if (family === 0) return true;
  return PRIVATE.check(address, family === 6 ? 'ipv6' : 'ipv4');
}

/** Resolves a name to all of its addresses, like `dns.lookup` with `all: true`. */
export type ResolveAll = (
  hostname: string,
  done: (error: Error | null, addresses: LookupAddress[]) => void,
) => void;

/** A connection to a private, loopback or link-local address was refused. */
export class PrivateAddressError extends Error {
  override readonly name = 'PrivateAddressError';

  constructor(hostname: string) {
    super(`${hostname} is at a private address, which is not allowed here`);
  }
}

/**
 * A `lookup` for connections that must leave the private networks. It is called for each new connection and the address
 * it returns is the one that is used, so a name that has other addresses afterwards (DNS rebinding) gains nothing. One
 * private address among several is enough to refuse: the connection might take it.
 */
export function publicLookup(resolve: ResolveAll = resolveBySystem): LookupFunction {
  return (hostname, options, done) => {
    resolve(hostname, (error, addresses) => {
      const candidates = addresses.filter(
        ({ family }) => !options.family || options.family === family || options.family === `IPv${family}`,
      );
      const [first] = candidates;
      if (error || !first) done(error ?? new Error(`${hostname} has no address`), '', 0);
      else if (addresses.some(({ address }) => isPrivateAddress(address)))
        done(new PrivateAddressError(hostname), '', 0);
      else if (options.all) done(null, candidates);
      else done(null, first.address, first.family);
    });
  };
}

/**
 * The addresses of a host, for connections that another program makes: it must use these and not resolve the name again.
 *
 * @param host as in a URL, an IPv6 address in brackets.
 * @returns none when the host is an address itself.
 * @throws PrivateAddressError; any other error means that the name could not be resolved.
 */
export async function publicAddresses(host: string, resolve?: ResolveAll): Promise<LookupAddress[]> {
  checkLiteralAddress(new URL(`http://${host}`));
  if (isIP(withoutBrackets(host)) !== 0) return [];
  return new Promise((done, fail) => {
    publicLookup(resolve)(host, { all: true }, (error, found) => {
      if (error) fail(error);
      else done(typeof found === 'string' ? [] : found);
    });
  });
}

/**
 * Refuses URLs that name a private address outright, or this machine: those are connected to without a lookup, or looked up
 * by a proxy, for whom this machine is another one.
 *
 * @throws PrivateAddressError
 */
export function checkLiteralAddress(url: URL): void {
  const host = withoutBrackets(url.hostname);
  const isPrivate = isIP(host) === 0 ? isLoopbackHost(host.replace(/\.+$/, '')) : isPrivateAddress(host);
  if (isPrivate) throw new PrivateAddressError(host);
}

function withoutBrackets(host: string): string {
  return host.replace(/^\[|\]$/g, '');
}

function resolveBySystem(hostname: string, done: Parameters<ResolveAll>[1]): void {
  systemLookup(hostname, { all: true }, (error, addresses) => done(error, error ? [] : addresses));
}
