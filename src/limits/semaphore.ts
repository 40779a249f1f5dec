/** No place became free in time. */
export class NoPlaceFree extends Error {
  override readonly name = 'NoPlaceFree';
}

/** What aborts when something is not wanted any longer: an AbortSignal, or as much of one as it takes here. */
export interface Departure {
  readonly aborted: boolean;
  readonly reason: unknown;
  addEventListener(type: 'abort', listener: () => void, options: { once: true }): void;
  removeEventListener(type: 'abort', listener: () => void): void;
}

/**
 * A number of places. Who finds none free waits for one. Those who wait are served in turn, one place each, so that somebody who
 * wants many holds up nobody who wants few; the places of one are in the order of arrival.
 */
export class Places {
  /** By who waits, in the order in which it is their turn. */
  private readonly waiting = new Map<string, Set<() => void>>();
  /** Until when nothing is for whom, in milliseconds of `performance.now()`. */
  private readonly pauses = new Map<string, number>();

  constructor(private free: number) {}

  /**
   * Resolves with what gives the place back, to be called once.
   *
   * @param who counts as one of those who are served in turn.
   * @param gone aborts when the place is not wanted any longer.
   * @throws NoPlaceFree after that time, or the reason of `gone`.
   */
  take(who: string, timeoutMs: number, gone?: Departure): Promise<() => void> {
    if (gone?.aborted) return Promise.reject(gone.reason as Error);
    const giveBack = this.takeFree(who);
    return giveBack ? Promise.resolve(giveBack) : this.wait(who, timeoutMs, gone);
  }

  /** What gives the place back, if one is free: then nobody waits but those who pause. */
  takeFree(who: string): (() => void) | undefined {
    if (this.free === 0 || this.pauses.has(who)) return undefined;
    this.free -= 1;
    return this.giveBack;
  }

  /** Gives somebody no further place for a time, which begins when the pause that they are in has ended. Others do not wait for that. */
  pause(who: string, ms: number): void {
    const until = this.pauses.get(who);
    this.pauses.set(who, (until ?? performance.now()) + ms);
    if (until === undefined) this.endPause(who);
  }

  private endPause(who: string): void {
    const left = (this.pauses.get(who) ?? 0) - performance.now();
    if (left > 0) {
      setTimeout(() => this.endPause(who), left).unref();
      return;
    }
    this.pauses.delete(who);
    while (this.free > 0) {
      const next = this.next();
      if (!next) return;
      this.free -= 1;
      next();
    }
  }

  private readonly giveBack = () => {
    const next = this.next();
    if (next) next();
    else this.free += 1;
  };

  private wait(who: string, timeoutMs: number, gone?: Departure): Promise<() => void> {
    return new Promise((resolve, reject) => {
      const stopWaiting = () => {
        clearTimeout(timeout);
        gone?.removeEventListener('abort', leave);
        this.forget(who, enter);
      };
      const enter = () => {
        stopWaiting();
        resolve(this.giveBack);
      };
      const leave = () => {
        stopWaiting();
        reject(gone?.reason as Error);
      };
      const timeout = setTimeout(() => {
        stopWaiting();
        reject(new NoPlaceFree('No place became free in time'));
      }, timeoutMs);
      gone?.addEventListener('abort', leave, { once: true });
      this.waiting.set(who, (this.waiting.get(who) ?? new Set()).add(enter));
    });
  }

  // Whose turn it is goes to the end of the line, with what they still wait for.
  private next(): (() => void) | undefined {
    for (const [who, own] of this.waiting) {
      if (this.pauses.has(who)) continue;
      this.waiting.delete(who);
      this.waiting.set(who, own);
      const [first] = own;
      return first;
    }
    return undefined;
  }

  private forget(who: string, enter: () => void): void {
    const own = this.waiting.get(who);
    own?.delete(enter);
    if (own?.size === 0) this.waiting.delete(who);
  }
}

/** How long a request waits for its turn while others of the same caller are served. */
export const TURN_TIMEOUT_MS = 10_000;
/** Of the connections of the pool, how many may read pages at a time, and how many may change something. */
const READS = 0.4;
const CHANGES = 0.2;
const LISTS = 1;

/**
 * How the connections of the pool are shared out. The rest is left to what is short and what everything waits for: looking
 * whether a page that is kept is still good, finding what a request names, syncs. Whoever asks for much waits for themselves.
 */
export class PoolShares {
  readonly reads: Places;
  readonly changes: Places;
  /** For complete lists of entries, which are made in memory. */
  readonly lists = new Places(LISTS);
  /** For what readers ask for that is as long: they do not wait for those who manage something. */
  readonly exports = new Places(LISTS);

  /** @param connections of the pool. */
  constructor(connections: number) {
    this.reads = new Places(Math.max(1, Math.floor(READS * connections)));
    this.changes = new Places(Math.max(1, Math.floor(CHANGES * connections)));
  }
}
