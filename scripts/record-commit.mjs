// Writes the build's commit to dist/commit.txt, for `--version` and `GET /version`; nothing without git.
import { execFileSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';

// Only this directory's own repository: sources unpacked inside another one are not part of its commit.
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
  // No git, or no repository: the commit stays unknown.
}
