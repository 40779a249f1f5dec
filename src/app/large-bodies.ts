import { Worker } from 'node:worker_threads';
import { Injectable, type OnApplicationShutdown } from '@nestjs/common';
import { CheckedElsewhere, type CheckedDocument } from '../documents/document-check.js';
import type { DocumentIn } from '../http/body.js';
import { ApiError } from '../http/errors.js';
import { type AbortSource, Semaphore } from '../limits/semaphore.js';
import type { BodyToRead, ReadBody } from './large-body.worker.js';

/** A body of 1.2 MB takes up to 60 MiB when it is parsed and checked. */
const WORKER_HEAP = { maxOldGenerationSizeMb: 64, maxYoungGenerationSizeMb: 8 };
/** Far more than any body takes, except on a machine that is too busy. */
const MAX_READ_MS = 10_000;
/** An idle worker is stopped after this time, to free its memory. */
const IDLE_MS = 15_000;

/**
 * Parses large bodies and checks their documents in a worker thread, so that they don't delay other requests. There is one
 * worker; callers take turns. An error stops the worker, and the next body starts a new one.
 */
@Injectable()
export class LargeBodies implements OnApplicationShutdown {
  private readonly turns = new Semaphore(1);
  private thread: Worker | undefined;
  private idle: NodeJS.Timeout | undefined;

  /**
   * Returns the parsed body, with a `CheckedElsewhere` in place of each document.
   *
   * @param key identifies the caller, for turns.
   * @throws ApiError 400 as for small bodies, and for more than 20,000 values outside documents; 503 `overloaded`;
   *   SemaphoreTimeout.
   */
  async read(
    bytes: Buffer,
    document: DocumentIn | undefined,
    key: string,
    signal: AbortSource,
  ): Promise<unknown> {
    const release = await this.turns.acquire(key, signal);
    try {
      return bodyFrom(await this.readInThread({ bytes, document }));
    } finally {
      release();
    }
  }

  onApplicationShutdown(): void {
    this.endThread();
  }

  private async readInThread(sent: BodyToRead): Promise<ReadBody> {
    clearTimeout(this.idle);
    const thread = (this.thread ??= this.startThread());
    let isLate = false;
    const timeout = setTimeout(() => {
      isLate = true;
      void thread.terminate();
    }, MAX_READ_MS);
    try {
      const answer = await answerOf(thread, sent);
      this.idle = setTimeout(() => this.endThread(), IDLE_MS).unref();
      return answer;
    } catch (error) {
      this.endThread();
      throw isLate ? new ApiError('overloaded') : error;
    } finally {
      clearTimeout(timeout);
    }
  }

  private startThread(): Worker {
    const thread = new Worker(new URL('./large-body.worker.js', import.meta.url), {
      // The worker needs neither the environment nor the command-line flags of the process.
      env: {},
      execArgv: [],
      resourceLimits: WORKER_HEAP,
    });
    thread.unref();
    // `answerOf` handles errors while a body is read.
    thread.on('error', () => undefined);
    thread.on('exit', () => {
      if (this.thread === thread) this.thread = undefined;
    });
    return thread;
  }

  private endThread(): void {
    clearTimeout(this.idle);
    void this.thread?.terminate();
    this.thread = undefined;
  }
}

function answerOf(thread: Worker, sent: BodyToRead): Promise<ReadBody> {
  return new Promise<ReadBody>((resolve, reject) => {
    const onExit = () => reject(new Error('The worker thread ended before it had read the body'));
    thread.once('message', (answer: ReadBody) => {
      thread.off('error', reject).off('exit', onExit);
      resolve(answer);
    });
    thread.once('error', reject).once('exit', onExit);
    thread.postMessage(sent);
  });
}

function bodyFrom(answer: ReadBody): unknown {
  if (answer.refusal) {
    const { code, message, details } = answer.refusal;
    throw new ApiError(code, message, details);
  }
  const documents = answer.checked.map(
    ([key, outcome]) => [key, new CheckedElsewhere(received(outcome))] as const,
  );
  const whole = documents.find(([key]) => key === null);
  return whole ? whole[1] : Object.assign(answer.body, Object.fromEntries(documents));
}

// Buffers arrive as plain byte arrays.
function received(outcome: CheckedDocument): CheckedDocument {
  if (!outcome.version) return outcome;
  const { version } = outcome;
  return {
    problems: [],
    version: { ...version, document: bufferOf(version.document), digest: bufferOf(version.digest) },
  };
}

function bufferOf({ buffer, byteOffset, length }: Uint8Array): Buffer {
  return Buffer.from(buffer, byteOffset, length);
}
