import { randomInt } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { anIssuer } from '../support/issuer.js';
import { SORTS_OF_CALLERS } from '../support/load/callers.js';
import { faultsIn } from '../support/load/faults.js';
import { quarters, timesOf, watchMemory } from '../support/load/figures.js';
import { type Load, LoadRun } from '../support/load/load.js';

const seed = Number(process.env['LOAD_SEED'] ?? randomInt(2 ** 31));
const LASTING_S = Number(process.env['SOAK_SECONDS'] ?? 120);
const CALLERS = 1_000;
/** Maximum ratio of p99 to p50. */
const SLOWEST = 10;
/** Maximum growth from the second quarter, when all caches are warm, to the last: memory must stay flat. */
const GROWTH = 1.15;
const GROWTH_MIB = 16;

describe(`two replicas under load for ${LASTING_S} s (LOAD_SEED=${seed})`, () => {
  const issuer = anIssuer().runs();
  let run: LoadRun;
  let load: Load;
  let memory: number[][];

  beforeAll(async () => {
    run = await LoadRun.prepare(issuer, {
      seed,
      callers: CALLERS,
      lasting: LASTING_S * 1_000,
      connections: 32,
    });
    run.checkCallers();
    const watched = watchMemory(run.replicas.both.map(({ pid }) => pid));
    load = await run.run();
    memory = await watched.end();
    const { reads, history, took } = load;
    const changes = history.changes.length;
    console.info(
      `${reads.length} reads and ${changes} changes in ${Math.round(took / 1_000)} s (${Math.round(((reads.length + changes) / took) * 1_000)}/s)`,
    );
  });
  afterAll(() => run.replicas.stop());

  it('every response matches the reference model', () => {
    const faults = faultsIn(load.reads, load.history);
    expect(faults).toEqual({ late: [], stale: [], foreign: [], skewed: [], wrong: [], error: [] });
  });

  it('all callers read, enough changes happen, and conditional requests occur', () => {
    const { reads, history } = load;
    expect(new Set(reads.map(({ reader }) => reader)).size).toBe(CALLERS);
    expect(new Set(reads.map(({ reader }) => reader.sort)).size).toBe(SORTS_OF_CALLERS.length);
    const changes = history.changes.length;
    expect(changes / (changes + reads.length)).toBeGreaterThan(0.045);
    expect(reads.filter(({ status }) => status === 304).length).toBeGreaterThan(reads.length / 20);
  });

  it('p99 is less than ten times p50', () => {
    const times = timesOf(load.reads);
    console.info(
      times
        .map(
          ({ what, requests, p50, p99 }) =>
            `${what.padEnd(16)} ${String(requests).padStart(7)}  p50 ${p50.toFixed(1)} ms  p99 ${p99.toFixed(1)} ms  ratio ${(p99 / p50).toFixed(1)}`,
        )
        .join('\n'),
    );
    const [all] = times;
    expect((all?.p99 ?? Infinity) / (all?.p50 ?? Number.NaN)).toBeLessThan(SLOWEST);
  });

  it('memory stays flat', () => {
    for (const samples of memory) {
      const [, second = 0, , last = Infinity] = quarters(samples);
      console.info(
        `memory by quarters: ${quarters(samples)
          .map((mib) => `${Math.round(mib)} MiB`)
          .join(', ')}`,
      );
      expect(last).toBeLessThanOrEqual(second * GROWTH + GROWTH_MIB);
    }
  });
});
