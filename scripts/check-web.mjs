// Type-checks `web/` against the API types, and the browser code of its tests. Vite only strips types.
import { spawnSync } from 'node:child_process';
import process from 'node:process';

const TSC = 'node_modules/typescript-7/bin/tsc';

for (const args of [['scripts/web-types.mjs'], [TSC, '-p', 'web'], [TSC, '-p', 'test/browser']]) {
  const { status } = spawnSync(process.execPath, args, { stdio: 'inherit' });
  if (status !== 0) process.exit(status ?? 1);
}
