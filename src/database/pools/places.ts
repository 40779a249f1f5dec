/** No place became free in time. */
export class NoPlaceFree extends Error {
  override readonly name = 'NoPlaceFree';
}

/** A number of places. Who finds none free waits for one, in the order of arrival. */
export class Places {
  private readonly waiting = new Set<() => void>();

  constructor(private free: number) {}

  /**
   * Resolves with what gives the place back, to be called once.
   *
   * @param gone aborts when the place is not wanted any longer.
   * @throws NoPlaceFree after that time, or the reason of `gone`.
   */
  take(timeoutMs: number, gone: AbortSignal): Promise<() => void> {
    if (gone.aborted) return Promise.reject(gone.reason as Error);
    const giveBack = () => {
      const [next] = this.waiting;
      if (next) next();
      else this.free += 1;
    };
    if (this.free > 0) {
      this.free -= 1;
      return Promise.resolve(giveBack);
    }
    return new Promise((resolve, reject) => {
      const stopWaiting = () => {
        clearTimeout(timeout);
        gone.removeEventListener('abort', leave);
        this.waiting.delete(enter);
      };
      const enter = () => {
        stopWaiting();
        resolve(giveBack);
      };
      const leave = () => {
        stopWaiting();
        reject(gone.reason as Error);
      };
      const timeout = setTimeout(() => {
        stopWaiting();
        reject(new NoPlaceFree('No place became free in time'));
      }, timeoutMs);
      gone.addEventListener('abort', leave, { once: true });
      this.waiting.add(enter);
    });
  }
}
