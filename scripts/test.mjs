// `npm test` is everything CI runs. `npm test -- <file>` builds, because tests run what is in dist, and runs that file alone.
import { spawnSync } from 'node:child_process';
import process from 'node:process';

const filters = process.argv.slice(2);

run(process.env.npm_execpath, 'run', filters.length > 0 ? 'build' : 'check');
run('node_modules/vitest/vitest.mjs', 'run', ...filters);

function run(script, ...args) {
  const { status } = spawnSync(process.execPath, [script, ...args], { stdio: 'inherit' });
  if (status !== 0) process.exit(status ?? 1);
}
