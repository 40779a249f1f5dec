import { isIPv6 } from 'node:net';
import { delimiter, resolve } from 'node:path';

/** The only place that reads `process.env`. Other code receives the values as arguments. */
export function readEnvironment(): NodeJS.ProcessEnv {
  return process.env;
}

/** Returns the commit and date of this build, from variables set in the container image. */
export function buildReport(environment = readEnvironment()): {
  commit: string | undefined;
  date: string | undefined;
} {
  return {
    commit: environment['REGISTRY_COMMIT'] || undefined,
    date: environment['REGISTRY_BUILD_DATE'] || undefined,
  };
}

/** Returns the absolute paths of the kubeconfig files from REGISTRY_KUBECONFIG, or else KUBECONFIG. */
export function kubeconfigOf(environment: NodeJS.ProcessEnv): string[] {
  const files = environment['REGISTRY_KUBECONFIG'] || environment['KUBECONFIG'] || '';
  return files
    .split(delimiter)
    .filter((file) => file !== '')
    .map((file) => resolve(file));
}

/** The address to listen on. Without `host`, the server listens on every interface. Port 0 means any free port. */
export interface Address {
  readonly host?: string;
  readonly port: number;
}

const HOST_NAME = /^[A-Za-z0-9][A-Za-z0-9._-]{0,252}$/;

/**
 * Parses `HOST:PORT`, `:PORT` (every interface) or `[IPv6]:PORT`.
 *
 * @returns undefined for any other text.
 */
export function parseAddress(text: string): Address | undefined {
  const match = /^(?:\[([^\]]*)\]|([^:[\]]*)):(\d{1,5})$/.exec(text);
  if (!match) return undefined;
  const [, bracketed, plain] = match;
  const port = Number(match[3]);
  if (port > 65_535) return undefined;
  if (bracketed !== undefined) return isIPv6(bracketed) ? { host: bracketed, port } : undefined;
  if (plain === undefined || plain === '') return { port };
  return HOST_NAME.test(plain) ? { host: plain, port } : undefined;
}

/** Returns whether the addresses conflict, so that the server cannot listen on both. */
export function collide(one: Address, other: Address): boolean {
  if (one.port === 0 || one.port !== other.port) return false;
  return everywhere(one) || everywhere(other) || one.host === other.host;
}

function everywhere({ host }: Address): boolean {
  return host === undefined || host === '0.0.0.0' || host === '::';
}
