import { on } from 'node:events';
import { type ResourceLimits, Worker } from 'node:worker_threads';

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
    try {
      const messages = on(thread, 'message', { signal, close: ['exit'] });
      thread.postMessage(job, transfer);
      for await (const [message] of messages as AsyncIterable<[Message]>) {
        const result = onMessage(message);
        if (result === undefined) continue;
        this.idle = setTimeout(() => void this.stop(), IDLE_MS).unref();
        return result;
      }
      throw new Error('The worker thread ended before it had done its job');
    } catch (error) {
      await this.stop();
      signal.throwIfAborted();
      const { code } = error as NodeJS.ErrnoException;
      throw code === 'ERR_WORKER_OUT_OF_MEMORY' ? new ThreadMemoryError() : error;
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
    // `run` handles errors during a job.
    thread.on('error', () => undefined);
    thread.on('exit', () => {
      if (this.thread === thread) this.thread = undefined;
    });
    return thread;
  }
}
