// `npm test` builds the project, then runs all checks and all tests except test/system, which `npm run test:system` runs.
// `npm test -- <file>` builds it, since tests run dist, then runs only that file.
import { spawn, spawnSync } from 'node:child_process';
import { constants, setPriority } from 'node:os';
import process from 'node:process';

const filters = process.argv.slice(2);
const VITEST = 'node_modules/vitest/vitest.mjs';

const { status } = run(process.env.npm_execpath, 'run', 'build');
if (status !== 0) process.exit(status ?? 1);
if (filters.length > 0) process.exit(run(VITEST, 'run', ...filters).status ?? 1);

// Formatting, lint and types run at low priority alongside the tests; their output is printed at the end.
const checks = spawn(process.execPath, ['scripts/check.mjs'], {
  stdio: ['ignore', 'pipe', 'pipe'],
});
if (checks.pid !== undefined) setPriority(checks.pid, constants.priority.PRIORITY_BELOW_NORMAL);
let said = '';
for (const stream of [checks.stdout, checks.stderr])
  stream.setEncoding('utf8').on('data', (text) => (said += text));
const tests = spawn(process.execPath, [VITEST, 'run', '--exclude', 'test/system/**'], { stdio: 'inherit' });

const [testsPassed, checksPassed] = await Promise.all([tests, checks].map(passes));
process.stdout.write(said);
process.exitCode = testsPassed && checksPassed ? 0 : 1;

function run(script, ...args) {
  return spawnSync(process.execPath, [script, ...args], { stdio: 'inherit' });
}

function passes(child) {
  return new Promise((resolve) => {
    child.on('error', (error) => {
      process.stderr.write(`${error}\n`);
      resolve(false);
    });
    child.on('close', (code) => resolve(code === 0));
  });
}
