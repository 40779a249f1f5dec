import { type ResourceLimits, Worker } from 'node:worker_threads';
import { unlessAborted } from './abortable.js';

/** An idle thread is stopped after this time, to free its memory. Until then it is reused: starting one takes 100 ms. */
const IDLE_MS = 15_000;

/** A job needs more memory than its thread may use. */
export class ThreadMemoryError extends Error {}

/** A worker thread that does one job at a time. An error stops it, and the next job starts another. */
export class WorkerThread<Job, Message> {
  private thread: Worker | undefined;
  private idle: NodeJS.Timeout | undefined;

  constructor(
    private readonly script: URL,
    private readonly heap: ResourceLimits,
  ) {}

  /**
   * Does a job. The previous one must have ended.
   *
   * @param onMessage receives the thread's messages and returns the result with the last one.
   * @param signal stops the thread when it aborts.
   * @param transfer buffers that are moved to the thread.
   * @throws ThreadMemoryError; errors of `onMessage`; the reason of `signal`.
   */
  async run<Result>(
    job: Job,
    onMessage: (message: Message) => Result | undefined,
    signal: AbortSignal,
    transfer: readonly ArrayBuffer[] = [],
  ): Promise<Result> {
    signal.throwIfAborted();
    clearTimeout(this.idle);
    const thread = (this.thread ??= this.start());
    const ended = new AbortController();
    try {
      const answer = resultOf(thread, onMessage, ended.signal);
      thread.postMessage(job, transfer);
      const result = await unlessAborted(answer, signal);
      this.idle = setTimeout(() => void this.stop(), IDLE_MS).unref();
      return result;
    } catch (error) {
      await this.stop();
      throw error;
    } finally {
      ended.abort();
    }
  }

  async stop(): Promise<void> {
    clearTimeout(this.idle);
    const { thread } = this;
    this.thread = undefined;
    await thread?.terminate();
  }

  private start(): Worker {
    const thread = new Worker(this.script, {
      // The thread needs neither the environment nor the command-line flags of the process.
      env: {},
      execArgv: [],
      resourceLimits: this.heap,
    });
    thread.unref();
    // `resultOf` handles errors during a job.
    thread.on('error', () => undefined);
    thread.on('exit', () => {
      if (this.thread === thread) this.thread = undefined;
    });
    return thread;
  }
}

/** Collects the thread's messages until one yields the result or `ended` aborts. */
function resultOf<Message, Result>(
  thread: Worker,
  onMessage: (message: Message) => Result | undefined,
  ended: AbortSignal,
): Promise<Result> {
  return new Promise<Result>((resolve, reject) => {
    const onPosted = (message: Message) => {
      try {
        const result = onMessage(message);
        if (result !== undefined) resolve(result);
      } catch (error) {
        reject(error as Error);
      }
    };
    const onError = (error: NodeJS.ErrnoException) =>
      reject(error.code === 'ERR_WORKER_OUT_OF_MEMORY' ? new ThreadMemoryError() : error);
    const onExit = () => reject(new Error('The worker thread ended before it had done its job'));
    thread.on('message', onPosted).on('error', onError).on('exit', onExit);
    ended.addEventListener('abort', () => {
      thread.off('message', onPosted).off('error', onError).off('exit', onExit);
    });
  });
}
