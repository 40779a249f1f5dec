import { SpanKind } from '@opentelemetry/api';
import { parseTraceParent } from '@opentelemetry/core';
import {
  AlwaysOnSampler,
  ParentBasedSampler,
  type Sampler,
  TraceIdRatioBasedSampler,
} from '@opentelemetry/sdk-trace-node';
import type { IncomingMessage } from 'node:http';

/**
 * Records this share of the traces that begin here, and those that come recorded (contract §2). For a request that names no
 * trace it is decided before anything is done for tracing: nine requests out of ten are then as cheap as without.
 */
export class ShareSampling {
  readonly sampler: Sampler;

  /** @param continues do requests go on with the trace that they name? */
  constructor(
    private readonly ratio: number,
    private readonly continues: boolean,
  ) {
    const others = new TraceIdRatioBasedSampler(ratio);
    const chosen = new AlwaysOnSampler();
    const root: Sampler = {
      shouldSample: (...args) =>
        // A request that is here has been chosen.
        args[3] === SpanKind.SERVER ? chosen.shouldSample() : others.shouldSample(args[0], args[1]),
      toString: () => `ShareSampling{${ratio}}`,
    };
    this.sampler = new ParentBasedSampler({ root });
  }

  /** Is this request in no trace? */
  leavesOut({ headers }: IncomingMessage): boolean {
    return !this.namesTrace(headers['traceparent']) && Math.random() >= this.ratio;
  }

  private namesTrace(header: string | string[] | undefined): boolean {
    return this.continues && typeof header === 'string' && parseTraceParent(header) !== null;
  }
}
