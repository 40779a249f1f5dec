import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { Cli } from '../support/cli.js';
import { aDatabase } from '../support/database.js';
import { aFolder } from '../support/folder.js';

const folder = aFolder();

it('a reload of 1,000 sources takes little CPU time of the main thread', async () => {
  const database = await aDatabase();
  const good = { auth: { mode: 'anonymous' }, database: database.connection };
  const served = Cli.serve(folder.write('registry.yaml', JSON.stringify(good)));
  await served.origin();
  const sources = Array.from({ length: 1_000 }, (_, n) => ({
    name: `file-${n}`,
    file: { path: '/nowhere.json' },
    syncPolicy: { interval: '1h' },
  }));
  const registries = [{ name: 'main', sources: ['nowhere'] }];
  folder.write('registry.yaml', JSON.stringify({ ...good, sources, registries }));
  const share = await mainThreadShare(served.child.pid, async () => {
    served.child.kill('SIGHUP');
    expect(await served.logs('was not applied')).toMatch(/registries\[0\]\.sources\[0\]/);
  });
  expect(share).toBeLessThan(0.2);
  served.child.kill('SIGTERM');
  expect((await served.finished).code).toBe(0);
  await database.drop();
});

/** Returns the main thread's share of the processor time that a process spends on `work`. */
async function mainThreadShare(pid: number | undefined, work: () => Promise<void>): Promise<number> {
  const ticks = (file: string) => {
    const fields = readFileSync(file, 'utf8')
      .replace(/^.*\) /s, '')
      .split(' ');
    // utime and stime, which are the 14th and 15th fields.
    return Number(fields[11]) + Number(fields[12]);
  };
  const all = `/proc/${pid}/stat`;
  const main = `/proc/${pid}/task/${pid}/stat`;
  const before = { all: ticks(all), main: ticks(main) };
  await work();
  return (ticks(main) - before.main) / (ticks(all) - before.all);
}
