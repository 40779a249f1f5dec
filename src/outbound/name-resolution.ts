import { execFile } from 'node:child_process';
import { type LookupAddress, lookup } from 'node:dns';
import { isIP } from 'node:net';

/** Resolves a name to all of its addresses, like `dns.lookup` with `all: true`. */
export type ResolveAll = (
  hostname: string,
  done: (error: Error | null, addresses: LookupAddress[]) => void,
) => void;

const TIMEOUT_MS = 10_000;
/** The exit code of `getent` for an unknown name. */
const NOT_FOUND = 2;

/**
 * Resolves a name in this process, for PostgreSQL and identity providers. All names share two threads, so names that others
 * choose must not be resolved here.
 */
export const resolveHere: ResolveAll = (hostname, done) => {
  lookup(hostname, { all: true }, (error, addresses) => done(error, error ? [] : addresses));
};

/** Callbacks that wait for each name. */
const waiting = new Map<string, Parameters<ResolveAll>[1][]>();

/**
 * Resolves the name of an upstream, package host or receiver in a separate process, so that slow name servers delay
 * nobody else. Like this process, `getent` reads /etc/hosts and /etc/resolv.conf, with search domains.
 */
export const resolveApart: ResolveAll = (hostname, done) => {
  const others = waiting.get(hostname);
  if (others) return void others.push(done);
  const all = [done];
  waiting.set(hostname, all);
  const answer: Parameters<ResolveAll>[1] = (error, addresses) => {
    waiting.delete(hostname);
    for (const each of all) each(error, addresses);
  };
  try {
    ask(hostname, answer);
  } catch (error) {
    // Node throws some failures to start a process, such as a lack of memory.
    process.nextTick(answer, error, []);
  }
};

const ask: ResolveAll = (hostname, done) => {
  // `getent` would parse it as an option.
  if (hostname.startsWith('-')) {
    process.nextTick(done, notFound(hostname), []);
    return;
  }
  const options = { timeout: TIMEOUT_MS, killSignal: 'SIGKILL' } as const;
  execFile('getent', ['ahosts', hostname], options, (error, output) => {
    if (!error) done(null, addressesIn(output));
    else if (error.code === NOT_FOUND) done(notFound(hostname), []);
    else if (error.killed)
      done(failure(`its name was not resolved within ${TIMEOUT_MS / 1_000} s`, 'EAI_AGAIN'), []);
    // Systems without `getent`, such as macOS.
    else if (error.code === 'ENOENT') resolveHere(hostname, done);
    else done(error, []);
  });
};

/** Each address has a line for each type of socket. */
function addressesIn(output: string): LookupAddress[] {
  const addresses = output.split('\n').map((line) => line.split(/\s/, 1)[0] ?? '');
  return [...new Set(addresses)]
    .filter((address) => isIP(address) !== 0)
    .map((address) => ({ address, family: isIP(address) }));
}

function notFound(hostname: string): Error {
  return failure(`getaddrinfo ENOTFOUND ${hostname}`, 'ENOTFOUND');
}

function failure(message: string, code: string): Error {
  return Object.assign(new Error(message), { code });
}
