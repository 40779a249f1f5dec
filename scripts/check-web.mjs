// Types of `web/`, against those of the API, and of what runs in a browser in its tests. Vite only removes them.
import { spawnSync } from 'node:child_process';
import process from 'node:process';

const TSC = 'node_modules/typescript-7/bin/tsc';

for (const args of [['scripts/web-types.mjs'], [TSC, '-p', 'web'], [TSC, '-p', 'test/browser']]) {
  const { status } = spawnSync(process.execPath, args, { stdio: 'inherit' });
  if (status !== 0) process.exit(status ?? 1);
}
