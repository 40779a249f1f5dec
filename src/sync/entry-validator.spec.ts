import { setImmediate } from 'node:timers/promises';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { expect, it } from 'vitest';
import { EntryValidator } from './entry-validator.js';

const COUNT = 10_000;

setFlagsFromString('--expose-gc');
const collect = runInNewContext('gc') as () => void;

// Garbage from loading this file takes several collections to clear.
async function heapUsed(): Promise<number> {
  for (let times = 0; times < 5; times += 1) {
    await setImmediate();
    collect();
  }
  return process.memoryUsage().heapUsed;
}

// test/soak/sync-memory.spec.ts measures a whole process, but only with large documents.
it('counts at least the memory that small documents take', async () => {
  let counted = 0;
  const validator = new EntryValidator(null, {
    onDuplicate: 'replace',
    memory: { add: (bytes) => void (counted += bytes) },
  });
  const add = (from: number, to: number) => {
    for (let index = from; index < to; index += 1) {
      const document = { name: `io.acme/s${index}`, description: 'd', version: '1.0.0' };
      const text = JSON.stringify(document);
      validator.add({ type: 'server', index, document, written: { text, keys: 3 }, readProblem: null });
    }
  };
  // Warms up compilation and caches before measuring.
  add(0, 500);
  const [heapBefore, countedBefore] = [await heapUsed(), counted];
  add(500, COUNT);
  const kept = (await heapUsed()) - heapBefore;
  expect(validator.result().entries).toHaveLength(COUNT);
  expect(kept).toBeGreaterThan(COUNT * 100);
  expect(kept).toBeLessThan(counted - countedBefore);
});
