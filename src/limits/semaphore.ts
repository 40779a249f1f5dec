/** Thrown if no permit became free in time. */
export class SemaphoreTimeout extends Error {
  override readonly name = 'SemaphoreTimeout';
}

/** A permit whose holder can give it up while it waits for something else. */
export class Permit {
  /** @param giveBack releases the permit. */
  constructor(
    private readonly semaphore: Semaphore,
    private readonly key: string,
    private giveBack: (() => void) | null,
  ) {}

  /** Does nothing if the permit is not held. */
  release(): void {
    this.giveBack?.();
    this.giveBack = null;
  }

  /**
   * Does work without the permit.
   *
   * @throws SemaphoreTimeout if no permit becomes free afterwards.
   */
  async doWithout<T>(work: () => Promise<T>): Promise<T> {
    this.release();
    const result = await work();
    this.giveBack = await this.semaphore.acquire(this.key);
    return result;
  }
}

const DEFAULT_TIMEOUT_MS = 10_000;

/**
 * Fair counting semaphore. Waiters are served round-robin by key, so a key with many waiters does not delay a key with
 * few; waiters of one key are served in order of arrival. `p-limit`, `p-queue` and `async-mutex` have no keys.
 */
export class Semaphore {
  /** Waiters by key, next key first. */
  private readonly queues = new Map<string, Set<() => void>>();

  /** @param timeoutMs longest wait for a permit. */
  constructor(
    private permits: number,
    private readonly timeoutMs = DEFAULT_TIMEOUT_MS,
  ) {}

  /**
   * @returns a function that releases the permit; call it once.
   * @throws SemaphoreTimeout, or the reason of `signal` when it aborts during the wait.
   */
  acquire(key: string, signal?: AbortSignal): Promise<() => void> {
    if (signal?.aborted) return Promise.reject(signal.reason as Error);
    const release = this.tryAcquire();
    return release ? Promise.resolve(release) : this.wait(key, signal);
  }

  async run<T>(key: string, signal: AbortSignal | undefined, work: () => Promise<T>): Promise<T> {
    const release = await this.acquire(key, signal);
    try {
      return await work();
    } finally {
      release();
    }
  }

  /** Works like `acquire`, but does not wait: returns undefined if no permit is free. */
  tryAcquire(): (() => void) | undefined {
    if (this.permits === 0) return undefined;
    this.permits -= 1;
    return this.release;
  }

  private readonly release = () => {
    const next = this.nextWaiter();
    if (next) next();
    else this.permits += 1;
  };

  private wait(key: string, signal?: AbortSignal): Promise<() => void> {
    return new Promise((resolve, reject) => {
      const leaveQueue = () => {
        clearTimeout(timeout);
        signal?.removeEventListener('abort', abort);
        this.dequeue(key, grant);
      };
      const grant = () => {
        leaveQueue();
        resolve(this.release);
      };
      const abort = () => {
        leaveQueue();
        reject(signal?.reason as Error);
      };
      const timeout = setTimeout(() => {
        leaveQueue();
        reject(new SemaphoreTimeout(`No permit became free within ${this.timeoutMs} ms`));
      }, this.timeoutMs);
      signal?.addEventListener('abort', abort, { once: true });
      this.queues.set(key, (this.queues.get(key) ?? new Set()).add(grant));
    });
  }

  private nextWaiter(): (() => void) | undefined {
    for (const [key, queue] of this.queues) {
      this.queues.delete(key);
      this.queues.set(key, queue);
      const [first] = queue;
      return first;
    }
    return undefined;
  }

  private dequeue(key: string, grant: () => void): void {
    const queue = this.queues.get(key);
    queue?.delete(grant);
    if (queue?.size === 0) this.queues.delete(key);
  }
}

/** Settles like `work`, or rejects when the signal aborts. Removes its abort listener in both cases. */
export function unlessAborted<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    const abort = () => reject(signal.reason as Error);
    const cleanUp = () => signal.removeEventListener('abort', abort);
    work.finally(cleanUp).then(resolve, reject);
    if (signal.aborted) abort();
    else signal.addEventListener('abort', abort, { once: true });
  });
}
