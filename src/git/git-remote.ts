import { createHash } from 'node:crypto';
import { join } from 'node:path';
import { GitMissingError } from './git-process.js';
import { FetchError, tooLargeSentence } from '../outbound/fetch-error.js';
import type { SettingsOf } from '../source-kinds/kinds.js';
import {
  checkGitVersion,
  type GitLimits,
  type GitResult,
  LIMITS,
  linkPrograms,
  LOCKED_DOWN,
  runGit,
} from './git-command.js';
import {
  type GitConnection,
  GitWorkspace,
  SSH_LOG,
  SSH_SERVER_WORDS,
  unreachable,
} from './git-connection.js';
import { couldNotConnect, explainFailure, refusesFilters } from './git-failures.js';

const MIB = 1024 * 1024;

const MAX_OUTPUT_BYTES = MIB;

const DISK_CHECK_MS = 200;

const LFS_POINTER = Buffer.from('version https://git-lfs.github.com/spec/');

/** For `info/attributes`, which precedes the attributes of a repository. */
const UNCHANGED = '* -text -ident -filter -working-tree-encoding -export-ignore -export-subst\n';

const OBJECT_ID = /^([0-9a-f]{40}|[0-9a-f]{64})$/;

/** A file in a commit; the object id identifies the file's content. */
interface Blob {
  readonly id: string;
  readonly path: string;
}

interface GitEnd extends GitResult {
  /** What an ssh server wrote to its standard error. */
  readonly serverWords?: string | undefined;
}

interface Bounds {
  readonly diskBytes?: number;
  /** The error message if the directory exceeds `diskBytes`. */
  readonly tooLarge?: string;
}

/** Counts the memory that a run uses, and refuses to exceed its limit. */
interface FileMemory {
  reserveForFile(bytes: number): void;
  add(bytes: number): void;
}

/** Fetches from one repository into a temporary directory. Callers must close it. */
export class GitRemote {
  private readonly deadline: AbortSignal;
  /** The folder of the programs that git may run. */
  private programs: string | undefined;

  private constructor(
    private readonly connection: GitConnection,
    private readonly workspace: GitWorkspace,
    private readonly signal: AbortSignal,
    private readonly limits: GitLimits,
  ) {
    this.deadline = AbortSignal.timeout(limits.totalMs);
  }

  static async open(
    connection: GitConnection,
    signal: AbortSignal,
    limits: Partial<GitLimits> = {},
  ): Promise<GitRemote> {
    const remote = new GitRemote(connection, await GitWorkspace.open(), signal, { ...LIMITS, ...limits });
    try {
      await remote.checkVersion();
      await remote.restrictPrograms();
      for (const [name, content] of Object.entries(connection.files))
        await remote.workspace.write(name, content);
      await remote.configure('sha1');
      return remote;
    } catch (error) {
      await remote.close();
      throw error;
    }
  }

  async close(): Promise<void> {
    await this.workspace.remove();
  }

  /** Returns the current commit of the branch, tag or default branch, using `ls-remote`. */
  async remoteCommit(settings: SettingsOf<'git'>): Promise<string> {
    const ref = refOf(settings);
    // Without these options the server lists all refs, including pull requests.
    const kind = settings.branch === undefined ? (settings.tag === undefined ? [] : ['--tags']) : ['--heads'];
    const commit = await this.firstCommit([ref], kind);
    if (commit === undefined) throw this.failure(missing(settings));
    return commit;
  }

  /** Returns the current commit of a tag or branch, a tag first, or of the default branch, using `ls-remote`. */
  async resolve(name: string | undefined): Promise<string> {
    const refs = name === undefined ? ['HEAD'] : [`refs/tags/${name}`, `refs/heads/${name}`, name];
    const commit = await this.firstCommit(refs, []);
    if (commit !== undefined) return commit;
    throw this.failure(name === undefined ? missing({}) : `there is no tag or branch ${name}`);
  }

  /** Fetches the commit with its files and writes a tar of a folder. */
  async archive(commit: string, folder: string, tar: string): Promise<void> {
    if (commit.length === 64) await this.configure('sha256');
    // Nothing in the repository may change the bytes of its files, or leave files out.
    await this.workspace.write('info/attributes', UNCHANGED);
    const fetched = await this.fetch(['--no-filter'], commit);
    if (fetched.code !== 0) throw this.gitFailure(fetched);
    const tree = `${commit}^{commit}:${folder}`;
    const type = await this.run(['cat-file', '-t', tree]);
    if (type.end.code !== 0 || type.output.trim() !== 'tree')
      throw this.failure(`there is no folder ${folder} in commit ${commit.slice(0, 12)}`);
    await this.text(['archive', '--format=tar', `--output=${tar}`, tree]);
  }

  /** Returns the commit of the first of these refs that exists. */
  private async firstCommit(
    refs: readonly string[],
    options: readonly string[],
  ): Promise<string | undefined> {
    const patterns = refs.flatMap((ref) => [ref, `${ref}^{}`]);
    const listed = await this.text(
      ['ls-remote', '--quiet', ...options, '--end-of-options', 'origin', ...patterns],
      AbortSignal.timeout(this.limits.lsRemoteMs),
    );
    const commits = new Map(
      listed.split('\n').map((line) => line.split('\t').reverse() as [string, string | undefined]),
    );
    // The line with ^{} has the commit of an annotated tag.
    const [commit] = refs.flatMap((ref) => commits.get(`${ref}^{}`) ?? commits.get(ref) ?? []);
    if (commit === undefined || !OBJECT_ID.test(commit)) return undefined;
    if (commit.length === 64) await this.configure('sha256');
    return commit;
  }

  /** Fetches the commit and its trees, without file contents, and returns the commit id. */
  async fetchCommit(settings: SettingsOf<'git'>): Promise<string> {
    if (settings.commit?.length === 64) await this.configure('sha256');
    const wanted = settings.commit ?? refOf(settings);
    const blobless = await this.fetch(['--filter=blob:none'], wanted);
    if (blobless.code !== 0) {
      if (!refusesFilters(blobless.stderr)) throw this.gitFailure(blobless);
      const whole = await this.fetch(['--no-filter'], wanted);
      if (whole.code !== 0) throw this.gitFailure(whole);
    }
    const { end, output } = await this.run(['rev-parse', '--verify', '--quiet', 'FETCH_HEAD^{commit}']);
    const commit = output.trim();
    if (end.code !== 0 || !OBJECT_ID.test(commit) || (settings.commit ?? commit) !== commit)
      throw this.failure(`${wanted} is not a commit`);
    return commit;
  }

  /** @throws FetchError if the path is not a regular file. */
  async find(commit: string, path: string): Promise<Blob> {
    const listed = await this.text(['ls-tree', '-z', '--full-tree', '--end-of-options', commit, path]);
    const [, mode, type, id, name] = /^(\d+) (\w+) ([0-9a-f]+)\t([^\0]*)\0$/.exec(listed) ?? [];
    const where = `in commit ${commit.slice(0, 12)}`;
    if (mode === undefined || id === undefined || name !== path)
      throw this.failure(`there is no file ${path} ${where}`);
    if (mode === '120000') throw this.failure(`${path} is a symbolic link ${where}; name the file itself`);
    if (type === 'commit') throw this.failure(`${path} is a submodule ${where}; submodules are not read`);
    if (type !== 'blob') throw this.failure(`${path} is a directory ${where}; name a file`);
    return { id, path };
  }

  /**
   * Fetches one file. Its memory is reserved before the content is read.
   *
   * @throws FetchError
   * @throws ReadMemoryError
   */
  async read({ id, path }: Blob, memory: FileMemory): Promise<{ bytes: Buffer; digest: Buffer }> {
    const { fileBytes } = this.limits;
    const tooLarge = tooLargeSentence(path, fileBytes);
    const diskBytes = (await this.workspace.bytes()) + fileBytes + MIB;
    const size = Number(await this.text(['cat-file', '-s', id], undefined, { diskBytes, tooLarge }));
    if (size > fileBytes) throw this.failure(tooLarge);
    memory.reserveForFile(size);
    memory.add(size);
    const bytes = Buffer.allocUnsafeSlow(size);
    const hash = createHash('sha256');
    let length = 0;
    const { end } = await this.run(['cat-file', 'blob', id], undefined, {}, (chunk) => {
      if (length + chunk.length > size) return false;
      chunk.copy(bytes, length);
      hash.update(chunk);
      length += chunk.length;
      return true;
    });
    if (end.code !== 0 || length !== size) throw this.gitFailure(end);
    if (bytes.subarray(0, LFS_POINTER.length).equals(LFS_POINTER))
      throw this.failure(`${path} is stored in Git LFS, which is not supported`);
    return { bytes, digest: hash.digest() };
  }

  private fetch(filter: readonly string[], wanted: string): Promise<GitEnd> {
    const args = ['--quiet', '--depth=1', ...filter, '--no-tags', '--no-recurse-submodules'];
    return this.run(['fetch', ...args, '--end-of-options', 'origin', wanted]).then(({ end }) => end);
  }

  private async checkVersion(): Promise<void> {
    const output = await this.text(['version']);
    checkGitVersion(output, this.connection.isPinned);
  }

  private async restrictPrograms(): Promise<void> {
    const folder = join(this.workspace.directory, 'programs');
    await linkPrograms(folder, (await this.text(['--exec-path'])).trim());
    this.programs = folder;
  }

  private async configure(objectFormat: 'sha1' | 'sha256'): Promise<void> {
    await this.workspace.configure([
      ['core', { repositoryFormatVersion: '1', bare: 'true' }],
      ['extensions', { ...(objectFormat === 'sha1' ? {} : { objectFormat }), partialClone: 'origin' }],
      ['remote "origin"', { url: this.connection.url, promisor: 'true', partialCloneFilter: 'blob:none' }],
      ...Object.entries(LOCKED_DOWN),
      ...this.connection.configuration,
    ]);
  }

  /** Runs a command and returns its output, which may be at most 1 MiB. */
  private async text(args: readonly string[], timeout?: AbortSignal, bounds: Bounds = {}): Promise<string> {
    const { end, output } = await this.run(args, timeout, bounds);
    if (end.code !== 0) throw this.gitFailure(end);
    return output;
  }

  private async run(
    args: readonly string[],
    timeout?: AbortSignal,
    { diskBytes = this.limits.diskBytes, tooLarge }: Bounds = {},
    onOutput?: (chunk: Buffer) => boolean,
  ): Promise<{ end: GitEnd; output: string }> {
    const fullDisk = new AbortController();
    const watch = setInterval(() => {
      void this.workspace.bytes().then((bytes) => {
        if (bytes > diskBytes) fullDisk.abort();
      });
    }, DISK_CHECK_MS);
    const chunks: Buffer[] = [];
    let length = 0;
    const keep = (chunk: Buffer) => {
      chunks.push(chunk);
      return (length += chunk.length) <= MAX_OUTPUT_BYTES;
    };
    const signals = [this.signal, this.deadline, fullDisk.signal, ...(timeout ? [timeout] : [])];
    try {
      const end = await runGit(args, {
        directory: this.workspace.directory,
        path: this.connection.path,
        protocol: this.connection.protocol,
        programs: this.programs,
        limits: this.limits,
        signal: AbortSignal.any(signals),
        onOutput: onOutput ?? keep,
      });
      // It may have been filled since the last check.
      if ((await this.workspace.bytes()) > diskBytes) fullDisk.abort();
      fullDisk.signal.throwIfAborted();
      return { end: await this.withSshLog(end), output: Buffer.concat(chunks).toString() };
    } catch (error) {
      if (this.signal.aborted) throw error;
      if (error instanceof GitMissingError)
        throw new FetchError('git is not installed: install version 2.32 or newer');
      if (fullDisk.signal.aborted)
        throw this.failure(
          tooLarge ?? `fetching it takes more than ${Math.round(diskBytes / MIB)} MiB of disk space`,
        );
      if (this.deadline.aborted || timeout?.aborted) throw this.failure('it did not respond in time');
      const { code, syscall } = error as NodeJS.ErrnoException;
      if (syscall?.startsWith('spawn')) throw new FetchError(`git could not be started: ${code}`);
      throw error;
    } finally {
      clearInterval(watch);
    }
  }

  private gitFailure({ stderr, serverWords }: GitEnd): FetchError {
    const { url, hidesAddress } = this.connection;
    const reason = explainFailure(stderr, this.connection, serverWords);
    return hidesAddress && couldNotConnect(stderr) ? unreachable(url, reason) : this.failure(reason);
  }

  private async withSshLog(end: GitResult): Promise<GitEnd> {
    if (end.code === 0 || this.connection.protocol !== 'ssh') return end;
    const [log, serverWords] = await Promise.all(
      [SSH_LOG, SSH_SERVER_WORDS].map((name) => this.workspace.beginning(name)),
    );
    return { ...end, stderr: `${log}${end.stderr}`, serverWords };
  }

  private failure(reason: string): FetchError {
    return new FetchError(`${this.connection.url}: ${reason}`);
  }
}

function refOf({ branch, tag }: SettingsOf<'git'>): string {
  if (branch !== undefined) return `refs/heads/${branch}`;
  return tag === undefined ? 'HEAD' : `refs/tags/${tag}`;
}

function missing({ branch, tag }: Pick<SettingsOf<'git'>, 'branch' | 'tag'>): string {
  if (branch !== undefined) return `there is no branch ${branch}; was it deleted or renamed?`;
  return tag === undefined
    ? 'it has no default branch; is it empty?'
    : `there is no tag ${tag}; was it deleted?`;
}
