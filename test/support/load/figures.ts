import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { sortOf } from './questions.js';
import type { Read } from './reading.js';

const run = promisify(execFile);
const SAMPLE_MS = 1_000;

/** Durations of requests, ms. */
export interface Times {
  readonly what: string;
  readonly requests: number;
  readonly p50: number;
  readonly p99: number;
}

/** Durations of reads: all, those with a 304, and the others by kind. */
export function timesOf(reads: readonly Read[]): Times[] {
  const kinds = new Map<string, number[]>();
  for (const { question, status, began, ended } of reads) {
    const what = status === 304 ? 'not modified' : sortOf(question);
    const times = kinds.get(what) ?? [];
    times.push(ended - began);
    kinds.set(what, times);
  }
  const all = reads.map(({ began, ended }) => ended - began);
  return [['all reads', all] as const, ...kinds].map(([what, ms]) => ({
    what,
    requests: ms.length,
    p50: at(ms, 0.5),
    p99: at(ms, 0.99),
  }));
}

/** The smallest value that this share of all values does not exceed. */
function at(values: readonly number[], share: number): number {
  const sorted = values.toSorted((one, other) => one - other);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? Number.NaN;
}

/** Samples the resident memory of processes every second, MiB, until `end`. */
export function watchMemory(pids: readonly number[]): { end(): Promise<number[][]> } {
  const samples: number[][] = pids.map(() => []);
  let isOver = false;
  const watching = (async () => {
    while (!isOver) {
      for (const [index, pid] of pids.entries()) samples[index]?.push(await residentMiB(pid));
      await new Promise((resolve) => setTimeout(resolve, SAMPLE_MS));
    }
  })();
  return {
    end: async () => {
      isOver = true;
      await watching;
      return samples;
    },
  };
}

/** The median of each quarter of the samples. */
export function quarters(samples: readonly number[]): number[] {
  const size = samples.length / 4;
  return [0, 1, 2, 3].map((index) => at(samples.slice(index * size, (index + 1) * size), 0.5));
}

async function residentMiB(pid: number): Promise<number> {
  const { stdout } = await run('ps', ['-o', 'rss=', '-p', String(pid)]);
  return Number(stdout.trim()) / 1024;
}
