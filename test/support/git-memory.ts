import { readdir, readFile } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';

/** Watches what this process and the git commands of the service take; those of the served side do not count. */
export function watchGitMemory(): { peakBytes(): Promise<number> } {
  const before = process.memoryUsage.rss();
  let peak = 0;
  let done = false;
  const watching = (async () => {
    while (!done) {
      const taken = process.memoryUsage.rss() - before + (await gitBytes());
      peak = Math.max(peak, taken);
      await sleep(20);
    }
  })();
  return {
    async peakBytes() {
      done = true;
      await watching;
      return peak;
    },
  };
}

// The commands of the service see its temporary repository as their home. Only Linux tells; elsewhere they count nothing.
async function gitBytes(): Promise<number> {
  const ids = (await readdir('/proc').catch(() => [])).filter((name) => /^\d+$/.test(name));
  const sizes = ids.map(async (id) => {
    const environment = await readFile(`/proc/${id}/environ`, 'utf8').catch(() => '');
    if (!environment.includes(`HOME=${process.env['TMPDIR']}/registry-git-`)) return 0;
    const rollup = await readFile(`/proc/${id}/smaps_rollup`, 'utf8').catch(() => '');
    // Anonymous memory: the pages of files that are mapped can be given back at any time.
    return Number(/^Anonymous:\s+(\d+) kB$/m.exec(rollup)?.[1] ?? 0) * 1024;
  });
  return (await Promise.all(sizes)).reduce((sum, size) => sum + size, 0);
}
