import { Injectable, type OnApplicationShutdown } from '@nestjs/common';
import { CheckedElsewhere, type CheckedDocument, receivedVersion } from '../documents/document-check.js';
import type { DocumentIn } from '../http/body.js';
import { ApiError } from '../http/errors.js';
import { Semaphore } from '../limits/semaphore.js';
import { WorkerThread } from '../limits/worker-thread.js';
import type { BodyToRead, ReadBody } from './large-body.worker.js';

/** Parsing and checking a body of 1.2 MB takes up to 60 MiB. */
const WORKER_HEAP = { maxOldGenerationSizeMb: 64, maxYoungGenerationSizeMb: 8 };
/** Far longer than any body takes, except on an overloaded machine. */
const MAX_READ_MS = 10_000;

/**
 * Parses large bodies and checks their documents in a worker thread, so that they don't delay other requests. Callers take
 * turns.
 */
@Injectable()
export class LargeBodies implements OnApplicationShutdown {
  private readonly turns = new Semaphore(1);
  private readonly thread = new WorkerThread<BodyToRead, ReadBody>(
    new URL('./large-body.worker.js', import.meta.url),
    WORKER_HEAP,
  );

  /**
   * Returns the parsed body, with a `CheckedElsewhere` in place of each document.
   *
   * @param key identifies the caller, for turns.
   * @throws ApiError 400 as for small bodies, and for more than 20,000 values outside documents; 503 `overloaded`;
   *   SemaphoreTimeout.
   */
  read(bytes: Buffer, document: DocumentIn | undefined, key: string, signal: AbortSignal): Promise<unknown> {
    return this.turns.run(key, signal, async () => {
      const late = new AbortController();
      const timer = setTimeout(() => late.abort(), MAX_READ_MS);
      try {
        return bodyFrom(await this.thread.run({ bytes, document }, (answer) => answer, late.signal));
      } catch (error) {
        throw late.signal.aborted ? new ApiError('overloaded') : error;
      } finally {
        clearTimeout(timer);
      }
    });
  }

  async onApplicationShutdown(): Promise<void> {
    await this.thread.stop();
  }
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

function received(outcome: CheckedDocument): CheckedDocument {
  return outcome.version ? { problems: [], version: receivedVersion(outcome.version) } : outcome;
}
