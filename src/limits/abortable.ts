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
