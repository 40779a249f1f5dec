// Preloaded into a service (`node --import`): on SIGUSR2 collects garbage and reports memory, open resources, and the
// longest time since the last report that the event loop was blocked.
import { readFileSync } from 'node:fs';
import process from 'node:process';
import { setInterval } from 'node:timers';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { isMainThread } from 'node:worker_threads';

setFlagsFromString('--expose-gc');
const collect = runInNewContext('gc');

/** CPU time of the main thread in ms: unlike wall time, it includes no other process of a busy machine. */
const mainThreadMs =
  process.platform === 'linux'
    ? () => Number(readFileSync(`/proc/self/task/${process.pid}/schedstat`, 'utf8').split(' ')[0]) / 1e6
    : () => process.cpuUsage().user / 1_000;
const LOOK_EVERY_MS = 5;
let last = mainThreadMs();
let longestBlockMs = 0;
const look = () => {
  const now = mainThreadMs();
  longestBlockMs = Math.max(longestBlockMs, now - last);
  last = now;
};

if (isMainThread) {
  setInterval(look, LOOK_EVERY_MS).unref();
  process.on('SIGUSR2', () => {
    look();
    const block = Math.round(longestBlockMs);
    collect();
    const { heapUsed, external, rss } = process.memoryUsage();
    const { user, system } = process.cpuUsage();
    const resources = process.getActiveResourcesInfo();
    const cpuMs = Math.round((user + system) / 1000);
    const vitals = { heapUsed, external, rss, cpuMs, resources, longestBlockMs: block };
    process.stdout.write(`${JSON.stringify({ vitals })}\n`);
    last = mainThreadMs();
    longestBlockMs = 0;
  });
}
