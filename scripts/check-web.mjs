// Types of `web/`, against those of the API. It is checked here and not by Vite, which only removes them.
import { spawnSync } from 'node:child_process';
import process from 'node:process';

for (const args of [['scripts/web-types.mjs'], ['node_modules/typescript/bin/tsc', '-p', 'web']]) {
  const { status } = spawnSync(process.execPath, args, { stdio: 'inherit' });
  if (status !== 0) process.exit(status ?? 1);
}
