import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';

/** Content of a commit by path: a file, or the mode and target of another object. */
export type Tree = Readonly<Record<string, string | Buffer | { mode: '120000' | '160000'; target: string }>>;

/** Chunks of a file too large to hold in memory. */
interface Stream {
  readonly bytes: number;
  readonly chunks: Iterable<Buffer>;
}

/** Less would take many writes for a commit with many files. */
const WRITTEN_BYTES = 256 * 1024;

/** A local bare repository, written by `git fast-import`. */
export class GitRepository {
  private constructor(readonly directory: string) {}

  static create(directory: string, objectFormat: 'sha1' | 'sha256'): GitRepository {
    const repository = new GitRepository(directory);
    execFileSync('git', [
      ...['init', '--quiet', '--bare', '--initial-branch=main'],
      ...[`--object-format=${objectFormat}`, directory],
    ]);
    repository.configure('uploadpack.allowFilter', 'true');
    return repository;
  }

  configure(key: string, value: string): void {
    this.git('config', key, value);
  }

  git(...args: string[]): string {
    return execFileSync('git', ['-C', this.directory, ...args], { encoding: 'utf8' }).trim();
  }

  /** Adds a commit with exactly these files to a branch. */
  async commit(
    tree: Tree,
    { branch = 'main', large = {}, keeps = false, compression = 1 }: CommitOptions = {},
  ): Promise<string> {
    const ref = `refs/heads/${branch}`;
    const child = spawn(
      'git',
      [
        '-C',
        this.directory,
        '-c',
        `core.compression=${compression}`,
        '-c',
        'core.bigFileThreshold=1m',
        'fast-import',
        '--quiet',
        '--force',
      ],
      { stdio: ['pipe', 'pipe', 'inherit'] },
    );
    const ended = once(child, 'close');
    const printed = text(child.stdout);
    let pending: Buffer[] = [];
    let pendingBytes = 0;
    const flush = async () => {
      const isWritten = child.stdin.write(Buffer.concat(pending));
      [pending, pendingBytes] = [[], 0];
      if (!isWritten) await once(child.stdin, 'drain');
    };
    const write = async (chunk: string | Buffer) => {
      pending.push(Buffer.from(chunk));
      if ((pendingBytes += chunk.length) > WRITTEN_BYTES) await flush();
    };
    await write(`commit ${ref}\nmark :1\n`);
    await write('committer Somebody <somebody@example.com> 1790000000 +0000\ndata 0\n');
    if (existsSync(join(this.directory, ref))) await write(`from ${ref}^0\n`);
    if (!keeps) await write('deleteall\n');
    for (const [path, content] of Object.entries(tree)) {
      if (typeof content === 'object' && 'mode' in content && content.mode === '160000') {
        await write(`M 160000 ${content.target} ${path}\n`);
        continue;
      }
      const isFile = typeof content === 'string' || Buffer.isBuffer(content);
      const bytes = Buffer.from(isFile ? content : content.target);
      await write(`M ${isFile ? '100644' : '120000'} inline ${path}\ndata ${bytes.length}\n`);
      await write(bytes);
      await write('\n');
    }
    for (const [path, { bytes, chunks }] of Object.entries(large)) {
      await write(`M 100644 inline ${path}\ndata ${bytes}\n`);
      for (const chunk of chunks) await write(chunk);
      await write('\n');
    }
    // fast-import prints the id of the commit.
    await write('get-mark :1\ndone\n');
    await flush();
    child.stdin.end();
    const [code] = (await ended) as [number];
    if (code !== 0) throw new Error(`git fast-import ended with ${code}`);
    return (await printed).trim();
  }
}

interface CommitOptions {
  readonly branch?: string;
  /** Keeps the other files of the parent commit. */
  readonly keeps?: boolean;
  /** 0 for incompressible content, which is slow to compress. */
  readonly compression?: 0 | 1;
  readonly large?: Readonly<Record<string, Stream>>;
}
