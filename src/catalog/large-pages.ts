import { setImmediate } from 'node:timers/promises';

/**
 * Turns of the event loop before the next page of those that wait, one for so many bytes of this one. libuv accepts one connection a
 * turn: with a large page in each of them, a few hundred connections would keep all that come later waiting for seconds.
 */
const BYTES_A_TURN = 64 * 1_024;
export const MAX_TURNS = 8;
/** How fast one caller is read pages of at least BYTES_A_TURN while others ask too: they take the time of everybody. */
const SHARED_BYTES_PER_MS = 4 * 1_024;

/** How many turns of the event loop come after a page of so many bytes. */
export function turnsAfter(bytes: number): number {
  return Math.min(MAX_TURNS, Math.floor(bytes / BYTES_A_TURN));
}

/** How long the caller of such a page waits for their next one while others ask too. */
export function pauseMsAfter(bytes: number): number {
  return bytes / SHARED_BYTES_PER_MS;
}

export async function loopTurns(count: number): Promise<void> {
  for (let turn = 0; turn < count; turn += 1) await setImmediate();
}
