// Writes the build's commit to dist/commit.txt, for `--version` and `GET /version`. Without git it writes nothing.
import { execFileSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';

// Reads only a repository in this directory: sources unpacked inside another repository are not part of its commit.
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
  // The commit stays unknown without git or a repository.
}
