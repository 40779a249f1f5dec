import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';

interface CpuProfile {
  readonly nodes: readonly {
    readonly id: number;
    readonly callFrame: { readonly functionName: string; readonly url: string; readonly lineNumber: number };
  }[];
  readonly samples: readonly number[];
  readonly timeDeltas: readonly number[];
}

/** Upper bound of the start-up, which is excluded. */
const START_US = 8_000_000;
const IDLE = new Set(['(idle)', '(program)']);

/**
 * Returns one line for each of the functions with the most self time after start-up, from the newest profile in a
 * directory.
 */
export async function topOfNewestProfile(folder: string, count: number): Promise<string[]> {
  const files = (await readdir(folder)).filter((name) => name.endsWith('.cpuprofile')).sort();
  const newest = files.at(-1);
  if (newest === undefined) return ['no profile was written'];
  const { nodes, samples, timeDeltas } = JSON.parse(
    await readFile(join(folder, newest), 'utf8'),
  ) as CpuProfile;
  const names = new Map(
    nodes.map(({ id, callFrame: { functionName, url, lineNumber } }) => {
      const place =
        url
          .split('/node_modules/')
          .at(-1)
          ?.replace(/^file:.*\/dist\//, 'dist/') ?? '';
      return [id, `${functionName || '(anonymous)'}${place === '' ? '' : ` ${place}:${lineNumber + 1}`}`];
    }),
  );
  const spent = new Map<string, number>();
  let time = 0;
  for (const [at, sample] of samples.entries()) {
    time += timeDeltas[at] ?? 0;
    if (time < START_US) continue;
    const name = names.get(sample) ?? '';
    spent.set(name, (spent.get(name) ?? 0) + (timeDeltas[at] ?? 0));
  }
  const busy = [...spent].filter(([name]) => !IDLE.has(name)).sort(([, one], [, other]) => other - one);
  const all = busy.reduce((sum, [, spentThere]) => sum + spentThere, 0);
  return busy
    .slice(0, count)
    .map(([name, own]) => `${((100 * own) / all).toFixed(1).padStart(5)} %  ${name}`);
}
