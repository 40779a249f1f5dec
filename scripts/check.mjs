// Runs the static checks (formatting, lint, types) concurrently, or with `--in-turn` one after another, to leave
// processors free for other work. Prints the output of each check when it ends.
import { spawn } from 'node:child_process';
import process from 'node:process';

const CHECKS = [
  ['oxfmt/bin/oxfmt', '--check', '.'],
  ['oxlint/bin/oxlint', '.'],
  // TypeScript 7 is four times as fast; the build needs the previous version's API.
  ['typescript-7/bin/tsc', '-p', 'tsconfig.json'],
  // The build generates the API types that `web/` is checked against.
  ['../scripts/check-web.mjs'],
];

const passed = process.argv.includes('--in-turn') ? [] : await Promise.all(CHECKS.map(passes));
while (passed.length < CHECKS.length) passed.push(await passes(CHECKS[passed.length]));
process.exitCode = passed.every(Boolean) ? 0 : 1;

function passes([script, ...args]) {
  return new Promise((resolve) => {
    const child = spawn(process.execPath, [`node_modules/${script}`, ...args], {
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    let said = '';
    for (const stream of [child.stdout, child.stderr])
      stream.setEncoding('utf8').on('data', (text) => (said += text));
    child.on('error', (error) => (said += `${error}\n`));
    child.on('close', (code) => {
      process.stdout.write(said);
      resolve(code === 0);
    });
  });
}
