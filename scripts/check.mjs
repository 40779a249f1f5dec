// Checks formatting, lint and types. oxlint reports TypeScript's errors in the same pass.
import { spawnSync } from 'node:child_process';
import process from 'node:process';

const CHECKS = [
  ['node_modules/oxfmt/bin/oxfmt', '--check', '.'],
  // Generates the API types that `web/` is checked against.
  ['scripts/web-types.mjs'],
  ['node_modules/oxlint/bin/oxlint', '.'],
];

const passed = CHECKS.map((args) => spawnSync(process.execPath, args, { stdio: 'inherit' }).status === 0);
process.exitCode = passed.every(Boolean) ? 0 : 1;
