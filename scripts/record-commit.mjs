// Writes the commit a build was made from to dist/commit.txt, for `--version` and `GET /version`. Without git there is none.
import { execFileSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';

// Only this folder's own repository: unpacked inside another one, the sources are no part of its commit.
const args = [
  '--git-dir=.git',
  '--work-tree=.',
  'describe',
  '--always',
  '--dirty',
  '--abbrev=40',
  '--exclude=*',
];
try {
  writeFileSync('dist/commit.txt', execFileSync('git', args, { stdio: ['ignore', 'pipe', 'ignore'] }));
} catch {
  // No git, or no repository: the commit stays unknown, and the build is as good.
}
