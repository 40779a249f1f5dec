import { Agent, get } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { addressOf } from './attacks.js';

/** Interval between requests: several times faster than a person who clicks continuously. */
const EVERY_MS = 20;
const HEALTH_EVERY_MS = 50;
/** The caller's timeout. */
const PATIENCE_MS = 15_000;

export interface Seen {
  /** Duration of every request in ms, including failed ones. */
  readonly times: number[];
  /** Number of 503 responses. */
  overloaded: number;
  /** Number of other failures: any status except 200, no response, or a timeout. */
  failed: number;
  /** Duration of every `/health` request in ms. */
  readonly health: number[];
}

interface Watched {
  readonly url: string;
  readonly internalUrl: string;
}

/**
 * Measures what a well-behaved caller experiences: the times of a list, requested at fixed intervals regardless of
 * earlier responses, alternately over a keep-alive and a new connection, and the response times of `/health`.
 */
export async function watch(
  { url, internalUrl }: Watched,
  path: string,
  token: string,
  seconds: number,
): Promise<Seen> {
  const seen: Seen = { times: [], overloaded: 0, failed: 0, health: [] };
  const kept = new Agent({ keepAlive: true });
  const headers = { authorization: `Bearer ${token}` };
  const end = performance.now() + 1_000 * seconds;
  const list = every(EVERY_MS, end, async (number) => {
    const agent = number % 2 === 0 ? kept : false;
    const { status, ms } = await timed(url + path, { ...addressOf(2), agent, headers });
    seen.times.push(ms);
    if (status === 503) seen.overloaded += 1;
    else if (status !== 200) seen.failed += 1;
  });
  const health = every(HEALTH_EVERY_MS, end, async () => {
    seen.health.push((await timed(`${internalUrl}/health`, { agent: false })).ms);
  });
  await Promise.all([list, health]);
  kept.destroy();
  return seen;
}

/** Status 0: no response, or a timeout. */
export function timed(
  url: string,
  options: { localAddress?: string; agent?: Agent | false; headers?: Record<string, string> },
): Promise<{ status: number; ms: number }> {
  const began = performance.now();
  return new Promise((resolve) => {
    const done = (status: number) => resolve({ status, ms: performance.now() - began });
    const sent = get(url, options, (response) => {
      response.on('error', () => done(0)).on('end', () => done(response.statusCode ?? 0));
      response.resume();
    });
    sent.on('error', () => done(0));
    sent.setTimeout(PATIENCE_MS, () => {
      sent.destroy();
      done(0);
    });
  });
}

async function every(ms: number, end: number, one: (number: number) => Promise<void>): Promise<void> {
  const all: Promise<void>[] = [];
  const began = performance.now();
  for (let number = 0; performance.now() < end; number += 1) {
    all.push(one(number));
    await sleep(Math.max(0, began + (number + 1) * ms - performance.now()));
  }
  await Promise.all(all);
}
