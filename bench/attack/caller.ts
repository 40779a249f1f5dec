import { Agent, get } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { addressOf } from './attacks.js';

/** As often as a person who clicks without a break, several times over. */
const EVERY_MS = 40;
const HEALTH_EVERY_MS = 50;
/** Nobody waits longer. */
const PATIENCE_MS = 15_000;

export interface Seen {
  /** Milliseconds of every request, those that failed included. */
  readonly times: number[];
  /** Answers of 503. */
  overloaded: number;
  /** Any other answer but 200, none at all, or none in time. */
  failed: number;
  /** Milliseconds of every look at `/health`. */
  readonly health: number[];
}

interface Watched {
  readonly url: string;
  readonly internalUrl: string;
}

/**
 * What a well-behaved caller sees of the service meanwhile: a list, asked for at fixed times whether or not the one before
 * was answered, on a connection that is kept and on a new one in turn. And how fast the service says that it lives.
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

/** A status of 0: no answer, or none in time. */
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
