import { setImmediate } from 'node:timers/promises';
import type { StatementRunner } from '../database/search-pool.js';
import type { AbortSource, Semaphore } from '../limits/semaphore.js';

/**
 * For each block of this size, a large page holds its permit for one extra event-loop turn. libuv accepts one
 * connection per turn; if every turn sent a large page, a few hundred slow readers would block new connections for
 * seconds.
 */
const BYTES_PER_TURN = 64 * 1_024;
const MAX_TURNS = 8;

/** Whether pages of this size count as large. */
export function isLarge(bytes: number): boolean {
  return bytes >= BYTES_PER_TURN;
}

async function loopTurns(count: number): Promise<void> {
  for (let turn = 0; turn < count; turn += 1) await setImmediate();
}

/**
 * Reads something with a permit, which it holds longer for large results.
 *
 * @param sized returns the size of a result in bytes; called before the permit is released.
 * @throws SemaphoreTimeout, or the reason of `gone` when it aborts during the wait.
 */
export async function readWithPermit<Result>(
  semaphore: Semaphore,
  key: string,
  gone: AbortSource | undefined,
  read: () => Promise<Result>,
  sized: (result: Result) => number,
): Promise<Result> {
  const release = semaphore.tryAcquire(key) ?? (await semaphore.acquire(key, gone));
  let turns = MAX_TURNS;
  try {
    const result = await read();
    turns = Math.min(MAX_TURNS, Math.floor(sized(result) / BYTES_PER_TURN));
    return result;
  } finally {
    if (turns === 0) release();
    else void loopTurns(turns).then(release);
  }
}

/** Runs statements that read documents, each with a permit. */
export class PermittedStatements implements StatementRunner {
  /** @param key takes turns with other keys. */
  constructor(
    private readonly statements: StatementRunner,
    private readonly semaphore: Semaphore,
    private readonly key: string,
  ) {}

  query<Rows>(text: string, values: unknown[]): Promise<Rows> {
    const read = () => this.statements.query<Rows>(text, values);
    return readWithPermit(this.semaphore, this.key, undefined, read, bytesIn);
  }
}

function bytesIn(rows: unknown): number {
  const documents = rows as readonly { readonly document?: string | null }[];
  return documents.reduce((sum, { document }) => sum + (document?.length ?? 0), 0);
}
