// What a change must pass beside its tests: formatting, lint, types. All at a time, or with --in-turn one after the other, for
// where something else needs the processor as well. What each says is shown when it ends.
import { spawn } from 'node:child_process';
import process from 'node:process';

const CHECKS = [
  ['prettier/bin/prettier.cjs', '--check', '.'],
  ['eslint/bin/eslint.js', '.'],
  // TypeScript 7 takes a quarter of the time; what is built, and what eslint asks, is still of the version before, whose API they use.
  ['typescript-7/bin/tsc', '--noEmit', '-p', 'tsconfig.json'],
  // The types of the API, which `web/` is checked against, are made from the build.
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
