// Runs tests while random processes below this one are stopped, as on an overloaded machine, to find tests that depend
// on the machine's speed.
import { spawn } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import process from 'node:process';
import { setTimeout as pause } from 'node:timers/promises';
import { readArguments, ROOT } from './programs.mjs';

const USAGE = 'node scripts/operations/stalls.mjs [--seconds 2] [FILE…]';
const LOOK_EVERY_MS = 50;
const STOPPED_AT_ONCE = 2;
const CHANCE = 1 / 4;
const SHORTEST_MS = 200;

const { values, positionals } = readArguments(USAGE, {
  allowPositionals: true,
  options: { seconds: { type: 'string', default: '2' } },
});
const longestMs = Number(values.seconds) * 1_000;
if (!(longestMs > SHORTEST_MS) || process.platform !== 'linux') {
  process.stderr.write(`Usage, on Linux: ${USAGE}\n`);
  process.exit(2);
}

const vitest = spawn(process.execPath, ['node_modules/vitest/vitest.mjs', 'run', ...positionals], {
  cwd: ROOT,
  stdio: 'inherit',
});
/** When each stopped process continues. */
const stopped = new Map();
vitest.on('close', (code) => {
  for (const id of stopped.keys()) signal(id, 'SIGCONT');
  process.exit(code ?? 1);
});
for (;;) {
  const now = performance.now();
  for (const [id, end] of stopped)
    if (end <= now) {
      signal(id, 'SIGCONT');
      stopped.delete(id);
    }
  if (stopped.size < STOPPED_AT_ONCE && Math.random() < CHANCE) {
    const running = processesBelow(vitest.pid).filter((id) => !stopped.has(id));
    const id = running[Math.floor(Math.random() * running.length)];
    if (id !== undefined && signal(id, 'SIGSTOP'))
      stopped.set(id, now + SHORTEST_MS + Math.random() * (longestMs - SHORTEST_MS));
  }
  await pause(LOOK_EVERY_MS);
}

/** The ids of a process and all its descendants. */
function processesBelow(root) {
  const processes = readdirSync('/proc').filter((name) => /^\d+$/.test(name));
  const children = new Map();
  for (const id of processes) {
    const parent = parentOf(id);
    children.set(parent, [...(children.get(parent) ?? []), Number(id)]);
  }
  const found = [root];
  for (const id of found) found.push(...(children.get(id) ?? []));
  return found;
}

/** Undefined if the process has ended. */
function parentOf(id) {
  try {
    const status = readFileSync(`/proc/${id}/stat`, 'utf8');
    // Skips the name, which may contain anything.
    return Number(status.slice(status.lastIndexOf(')')).split(' ')[2]);
  } catch {
    return undefined;
  }
}

/** Returns false if the process has ended. */
function signal(id, name) {
  try {
    return process.kill(id, name);
  } catch {
    return false;
  }
}
