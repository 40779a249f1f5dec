import { randomInt } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { anIssuer } from '../support/issuer.js';
import { SORTS_OF_CALLERS } from '../support/load/crowd.js';
import { faultsIn } from '../support/load/faults.js';
import { LoadRun } from '../support/load/load.js';

// A failure prints it: LOAD_SEED=… makes the same choices again, though not at the same moments.
const seed = Number(process.env['LOAD_SEED'] ?? randomInt(2 ** 31));
const CALLERS = 1_000;

describe(`a thousand callers in twenty views of two replicas, while the catalogue changes (LOAD_SEED=${seed})`, () => {
  const issuer = anIssuer().runs();
  let load: LoadRun;

  beforeAll(async () => {
    load = await LoadRun.prepare(issuer, { seed, callers: CALLERS, lasting: 8_000, connections: 24 });
  });
  afterAll(() => load.replicas.stop());

  it(
    'are all shown what the reference shows them, and nothing of before the last change',
    { timeout: 180_000 },
    async () => {
      load.checkCrowd();
      const { reads, history } = await load.run();
      const { skewed, ...faults } = faultsIn(reads, history);
      // Neither late nor another's: parts of two states, which is told and no failure.
      if (skewed.length > 0) console.info(`Answers of several states: ${skewed.join('\n')}`);
      expect(faults).toEqual({ late: [], stale: [], foreign: [], wrong: [], error: [] });
      expect(new Set(reads.map(({ reader }) => reader)).size).toBe(CALLERS);
      expect(new Set(reads.map(({ reader }) => reader.sort)).size).toBe(SORTS_OF_CALLERS.length);
      const changes = history.changes.length;
      expect(changes / (changes + reads.length)).toBeGreaterThan(0.045);
      expect(reads.filter(({ status }) => status === 304).length).toBeGreaterThan(reads.length / 20);
    },
  );
});
