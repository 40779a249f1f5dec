import type { Request } from 'express';

const IPV4_IN_IPV6 = /^::ffff:(\d+\.\d+\.\d+\.\d+)$/i;
const IPV6_GROUPS = 8;
const NETWORK_GROUPS = 4;

/**
 * Who counts as one client where a limit holds for each of them: the address at the other end of the connection. Headers
 * such as X-Forwarded-For are not looked at, since anybody may send them.
 */
export function clientKeyOf({ socket }: Request): string {
  return clientNetwork(socket.remoteAddress);
}

/** The address at the other end of the connection, whole; null when the connection is gone. Headers are not looked at here either. */
export function addressOf({ socket }: Request): string | null {
  const { remoteAddress } = socket;
  return remoteAddress === undefined ? null : (IPV4_IN_IPV6.exec(remoteAddress)?.[1] ?? remoteAddress);
}

/**
 * An IPv4 address as it is; of an IPv6 address its /64, which is the least that one client is given (RFC 6177 §2). All
 * that have no address, their connection being gone, are one.
 */
export function clientNetwork(address: string | undefined): string {
  if (address === undefined) return 'unknown';
  const mapped = IPV4_IN_IPV6.exec(address)?.[1];
  if (mapped !== undefined) return mapped;
  if (!address.includes(':')) return address;
  const [head = [], tail = []] = address
    .toLowerCase()
    .split('::')
    .map((part) => part.split(':').filter((group) => group !== ''));
  const zeros = new Array<string>(Math.max(0, IPV6_GROUPS - head.length - tail.length)).fill('0');
  return `${[...head, ...zeros, ...tail].slice(0, NETWORK_GROUPS).join(':')}::/64`;
}
