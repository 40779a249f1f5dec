import { setImmediate } from 'node:timers/promises';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { expect, it } from 'vitest';
import { EntryReader } from './entry-reader.js';

const COUNT = 20_000;

setFlagsFromString('--expose-gc');
const collect = runInNewContext('gc') as () => void;

// What loading this file has left behind goes in several steps; none of what is kept is outside the heap.
async function heldNow(): Promise<number> {
  for (let times = 0; times < 5; times += 1) {
    await setImmediate();
    collect();
  }
  return process.memoryUsage().heapUsed;
}

// test/api/sync.memory.spec.ts sees a process keep to its memory; of small documents in the soak only, for it takes hundreds of thousands.
it('counts no less for small documents than what it keeps of them', async () => {
  let counted = 0;
  const reader = new EntryReader(null, {
    onDuplicate: 'replace',
    memory: { add: (bytes) => void (counted += bytes) },
  });
  const read = (from: number, to: number) => {
    for (let index = from; index < to; index += 1) {
      const document = { name: `io.acme/s${index}`, description: 'd', version: '1.0.0' };
      const text = JSON.stringify(document);
      reader.read({ type: 'server', index, document, written: { text, keys: 3 }, readProblem: null });
    }
  };
  // What is compiled and remembered once is none of it.
  read(0, 500);
  const [heldBefore, countedBefore] = [await heldNow(), counted];
  read(500, COUNT);
  const kept = (await heldNow()) - heldBefore;
  expect(reader.result().entries).toHaveLength(COUNT);
  expect(kept).toBeGreaterThan(COUNT * 100);
  expect(kept).toBeLessThan(counted - countedBefore);
});
