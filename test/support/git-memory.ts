import { readdir, readFile } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';

/** Measures the memory of this process and the service's git commands, excluding the git server's. */
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

// The service's git commands have its temporary repository as HOME. Linux only; elsewhere they count as 0.
async function gitBytes(): Promise<number> {
  const ids = (await readdir('/proc').catch(() => [])).filter((name) => /^\d+$/.test(name));
  const sizes = ids.map(async (id) => {
    const environment = await readFile(`/proc/${id}/environ`, 'utf8').catch(() => '');
    if (!environment.includes(`HOME=${process.env['TMPDIR']}/registry-git-`)) return 0;
    const rollup = await readFile(`/proc/${id}/smaps_rollup`, 'utf8').catch(() => '');
    // Anonymous memory: mapped file pages are reclaimable.
    return Number(/^Anonymous:\s+(\d+) kB$/m.exec(rollup)?.[1] ?? 0) * 1024;
  });
  return (await Promise.all(sizes)).reduce((sum, size) => sum + size, 0);
}
