import type { Child } from './child.js';
import { type Load, requestsPerSecond } from './load.js';

export interface UnderLoad {
  readonly perSecond: number;
  /** CPU per request: more meaningful than the rate when the load generator is the bottleneck. */
  readonly cpuMs: number;
}

/** Requests per second of a process, and their CPU cost. */
export async function underLoad(child: Child, load: Omit<Load, 'url'>): Promise<UnderLoad> {
  const { cpu: before } = await child.usage();
  const perSecond = await requestsPerSecond({ ...load, url: child.url });
  const { cpu: after } = await child.usage();
  const microseconds = after.user + after.system - before.user - before.system;
  return { perSecond, cpuMs: microseconds / 1_000 / (perSecond * load.seconds) };
}
