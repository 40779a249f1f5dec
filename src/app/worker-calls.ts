import type { Worker } from 'node:cluster';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Config } from '../config/config.js';
import type { VersionReport } from '../health/version-report.js';
import type { MetricFamilies } from '../telemetry/metrics.js';
import type { InForce, Reloaded } from './reload.js';
import type { WorkerRole } from './start-service.js';

export interface WorkerStart extends WorkerRole {
  readonly config: Config;
  readonly version: VersionReport;
  /** Marks the worker's log lines. */
  readonly worker: number;
}

/** What the primary process asks of a worker. */
export interface WorkerCalls {
  start(start: WorkerStart): Promise<{ readonly publicPort: number }>;
  reload(config: Config): Promise<Reloaded & Pick<InForce, 'rules'>>;
  metrics(): Promise<MetricFamilies>;
  /** False while the database is unreachable. */
  isReady(): Promise<boolean>;
  /** The worker then exits. */
  stop(noticeMs: number): Promise<void>;
}

type CallName = keyof WorkerCalls;

interface Call {
  readonly id: number;
  readonly name: CallName;
  readonly argument: unknown;
}

/** Structured cloning keeps no members of an error but its message. */
type Failure = Pick<NodeJS.ErrnoException, 'name' | 'message' | 'code'> & {
  readonly address?: string;
  readonly port?: number;
};
type Answer = { readonly id: number } & ({ readonly value: unknown } | { readonly failure: Failure });

/** A worker's first message: Node drops messages that arrive before the listener is added. */
const LISTENING: Answer = { id: -1, value: null };

/** Answers the primary's calls until `stop`, which ends this process. */
export function answerCalls(calls: WorkerCalls): void {
  process.on('message', ({ id, name, argument }: Call) => {
    const call = calls[name] as (argument: unknown) => Promise<unknown>;
    void call(argument)
      .then(
        (value): Answer => ({ id, value }),
        (error: unknown): Answer => ({ id, failure: failureOf(error) }),
      )
      .then((answer) =>
        process.send?.(answer, undefined, undefined, () => {
          if (name === 'stop') process.exit(0);
        }),
      );
  });
  process.send?.(LISTENING);
}

function failureOf(error: unknown): Failure {
  const { name, message, code, address, port } = error as Failure;
  return { name, message, ...(code && { code }), ...(address && { address }), ...(port && { port }) };
}

const ENDED = 'the process ended';

/** A worker as the primary sees it. */
export class WorkerHandle {
  /** Whether it has started and serves requests. */
  isServing = false;
  /** Consecutive checks without an answer. */
  missedChecks = 0;
  hasEnded = false;
  /** Resolves with the reason once the process has ended and its output was read. */
  readonly ended: Promise<string>;
  /** Its metrics when they were last asked for. */
  lastMetrics: MetricFamilies = [];
  private readonly pending = new Map<number, (answer: Answer) => void>();
  private readonly listening: Promise<Answer>;
  private nextId = 0;

  constructor(
    readonly slot: number,
    readonly worker: Worker,
  ) {
    this.listening = this.answerTo(LISTENING.id);
    worker.on('message', (answer: Answer) => {
      this.pending.get(answer.id)?.(answer);
      this.pending.delete(answer.id);
    });
    this.ended = new Promise((resolve) => {
      worker.process.once('close', (code, signal) => resolve(signal ?? `exit code ${code}`));
    });
    worker.process.once('exit', () => {
      this.hasEnded = true;
      this.isServing = false;
      const failure = { name: 'Error', message: ENDED };
      for (const [id, settle] of this.pending) settle({ id, failure });
      this.pending.clear();
    });
  }

  /** @throws the worker's error, or an Error if the worker ends first. */
  call<N extends CallName>(name: N, ...[argument]: Parameters<WorkerCalls[N]>): ReturnType<WorkerCalls[N]>;
  async call(name: CallName, argument?: unknown): Promise<unknown> {
    await this.listening;
    if (this.hasEnded) throw new Error(ENDED);
    const id = this.nextId++;
    const answered = this.answerTo(id);
    // If the message can't be sent, the process ends soon.
    this.worker.send({ id, name, argument } satisfies Call, () => undefined);
    const answer = await answered;
    if ('failure' in answer) throw Object.assign(new Error(answer.failure.message), answer.failure);
    return answer.value;
  }

  private answerTo(id: number): Promise<Answer> {
    return new Promise((resolve) => this.pending.set(id, resolve));
  }

  /** Like `call`, but resolves to undefined if the worker fails, ends or takes longer. */
  async callWithin<N extends 'metrics' | 'isReady'>(
    ms: number,
    name: N,
  ): Promise<Awaited<ReturnType<WorkerCalls[N]>> | undefined> {
    const answer = (this.call as (name: N) => ReturnType<WorkerCalls[N]>).call(this, name);
    return Promise.race([answer.catch(() => undefined), sleep(ms, undefined, { ref: false })]) as Promise<
      Awaited<ReturnType<WorkerCalls[N]>> | undefined
    >;
  }
}
