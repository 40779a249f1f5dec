// Preloaded into a service (`node --import`): on SIGUSR2 collects garbage and reports memory and open
// resources.
import process from 'node:process';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

setFlagsFromString('--expose-gc');
const collect = runInNewContext('gc');

process.on('SIGUSR2', () => {
  collect();
  const { heapUsed, external, rss } = process.memoryUsage();
  const { user, system } = process.cpuUsage();
  const resources = process.getActiveResourcesInfo();
  const vitals = { heapUsed, external, rss, cpuMs: Math.round((user + system) / 1000), resources };
  process.stdout.write(`${JSON.stringify({ vitals })}\n`);
});
