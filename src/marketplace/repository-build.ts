import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { runLocalGit } from './local-git.js';
import type { RepositoryFile } from './marketplace-tree.js';

/** Allows clients to fetch objects without file contents first. Only `upload-pack` ever runs in the repository. */
const CONFIGURATION = `[core]
	repositoryFormatVersion = 0
	bare = true
	hooksPath = /dev/null
	bigFileThreshold = 1m
[pack]
	threads = 1
[uploadpack]
	allowFilter = true
[uploadpackfilter]
	allow = false
[uploadpackfilter "blob:none"]
	allow = true
[uploadpackfilter "tree"]
	allow = true
`;

/** 2000-01-01T00:00:00Z. Dates and names are fixed, so that equal trees have equal commits (reference/marketplace). */
const COMMITTER = 'Registry <registry@localhost> 946684800 +0000';
const MESSAGE = 'Marketplace\n';

/** Writes a bare repository with one commit that has no parent. */
export async function createRepository(
  directory: string,
  files: readonly RepositoryFile[],
  read: (digest: string) => AsyncIterable<Buffer>,
  signal: AbortSignal,
): Promise<void> {
  await runLocalGit(directory, ['init', '--quiet', '--bare', '--template=', '--initial-branch=main'], signal);
  await writeFile(join(directory, 'config'), CONFIGURATION);
  const args = ['-c', 'fastimport.unpackLimit=0', 'fast-import', '--quiet', '--done'];
  await runLocalGit(directory, args, signal, instructions(files, read));
}

/** The input of `git fast-import`: each file's content once, then the commit. */
async function* instructions(
  files: readonly RepositoryFile[],
  read: (digest: string) => AsyncIterable<Buffer>,
): AsyncGenerator<string | Buffer> {
  const changes: string[] = [];
  const marks = new Map<string, number>();
  for (const file of files) {
    const content = 'text' in file ? `text ${file.path}` : file.digest;
    let mark = marks.get(content);
    if (mark === undefined) {
      mark = marks.size + 1;
      marks.set(content, mark);
      yield `blob\nmark :${mark}\ndata ${sizeOfFile(file)}\n`;
      if ('text' in file) yield file.text;
      else yield* read(file.digest);
      yield '\n';
    }
    changes.push(`M ${file.executable ? '100755' : '100644'} :${mark} ${quoted(file.path)}\n`);
  }
  yield `commit refs/heads/main\ncommitter ${COMMITTER}\ndata ${MESSAGE.length}\n${MESSAGE}`;
  yield* changes;
  yield '\ndone\n';
}

export function sizeOfFile(file: RepositoryFile): number {
  return 'text' in file ? Buffer.byteLength(file.text) : file.bytes;
}

function quoted(path: string): string {
  return `"${path.replaceAll(/["\\]/g, '\\$&').replaceAll('\n', '\\n')}"`;
}
