import { join } from 'node:path';
import { GitMissingError } from './git-process.js';
import { FetchError } from '../outbound/fetch-error.js';
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

/** Written to `info/attributes`, which overrides the repository's own attributes. */
const UNCHANGED = '* -text -ident -filter -working-tree-encoding -export-ignore -export-subst\n';

const OBJECT_ID = /^([0-9a-f]{40}|[0-9a-f]{64})$/;

interface GitEnd extends GitResult {
  /** The standard error of an ssh server. */
  readonly serverWords?: string | undefined;
}

interface RunOptions {
  readonly timeout?: AbortSignal;
  /** Written to standard input. */
  readonly input?: string;
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
    readonly limits: GitLimits,
  ) {
    this.deadline = AbortSignal.timeout(limits.totalMs);
  }

  /** The repository's address, without credentials. */
  get url(): string {
    return this.connection.url;
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
    // The server would otherwise list all refs, including pull requests.
    const kind = settings.branch === undefined ? (settings.tag === undefined ? [] : ['--tags']) : ['--heads'];
    const commit = await this.firstCommit([ref], kind);
    if (commit === undefined) throw this.failure(missing(settings));
    return commit;
  }

  /**
   * Returns the current commit of a tag or branch (a tag takes precedence), or of the default branch, using
   * `ls-remote`.
   */
  async resolve(name: string | undefined): Promise<string> {
    const refs = name === undefined ? ['HEAD'] : [`refs/tags/${name}`, `refs/heads/${name}`, name];
    const commit = await this.firstCommit(refs, []);
    if (commit !== undefined) return commit;
    throw this.failure(name === undefined ? missing({}) : `there is no tag or branch ${name}`);
  }

  /**
   * Fetches the commit with its files, and writes a folder to a tar file, which counts toward `diskBytes`.
   *
   * @returns the path of the tar; `close` removes it.
   */
  async archive(commit: string, folder: string): Promise<string> {
    if (commit.length === 64) await this.configure('sha256');
    // Nothing in the repository may change the bytes of its files or omit files.
    await this.workspace.write('info/attributes', UNCHANGED);
    const fetched = await this.fetch(['--no-filter'], commit);
    if (fetched.code !== 0) throw this.gitFailure(fetched);
    const tree = `${commit}^{commit}:${folder}`;
    const type = await this.run(['cat-file', '-t', tree]);
    if (type.end.code !== 0 || type.output.trim() !== 'tree')
      throw this.failure(`there is no folder ${folder} in commit ${commit.slice(0, 12)}`);
    const tar = join(this.workspace.directory, 'archive.tar');
    await this.text(['archive', '--format=tar', `--output=${tar}`, tree]);
    return tar;
  }

  /** Returns the commit of the first of these refs that exists. */
  private async firstCommit(
    refs: readonly string[],
    options: readonly string[],
  ): Promise<string | undefined> {
    const patterns = refs.flatMap((ref) => [ref, `${ref}^{}`]);
    const listed = await this.text(
      ['ls-remote', '--quiet', ...options, '--end-of-options', 'origin', ...patterns],
      { timeout: AbortSignal.timeout(this.limits.lsRemoteMs) },
    );
    const commits = new Map(
      listed.split('\n').map((line) => line.split('\t').reverse() as [string, string | undefined]),
    );
    // The line ending in ^{} has the commit of an annotated tag.
    const [commit] = refs.flatMap((ref) => commits.get(`${ref}^{}`) ?? commits.get(ref) ?? []);
    if (commit === undefined || !OBJECT_ID.test(commit)) return undefined;
    if (commit.length === 64) await this.configure('sha256');
    return commit;
  }

  /**
   * Fetches a commit and its trees, without file contents if the server supports that.
   *
   * @returns the ID of the commit, and whether file contents must be fetched.
   */
  async fetchCommit(
    settings: SettingsOf<'git'>,
  ): Promise<{ readonly commit: string; readonly isPartial: boolean }> {
    if (settings.commit?.length === 64) await this.configure('sha256');
    const wanted = settings.commit ?? refOf(settings);
    const blobless = await this.fetch(['--filter=blob:none'], wanted);
    const isPartial = blobless.code === 0;
    if (!isPartial) {
      if (!refusesFilters(blobless.stderr)) throw this.gitFailure(blobless);
      const whole = await this.fetch(['--no-filter'], wanted);
      if (whole.code !== 0) throw this.gitFailure(whole);
    }
    const { end, output } = await this.run(['rev-parse', '--verify', '--quiet', 'FETCH_HEAD^{commit}']);
    const commit = output.trim();
    if (end.code !== 0 || !OBJECT_ID.test(commit) || (settings.commit ?? commit) !== commit)
      throw this.failure(`${wanted} is not a commit`);
    return { commit, isPartial };
  }

  /** Fetches objects of a partial commit together. Git itself would fetch them one by one as they are read. */
  async fetchObjects(ids: readonly string[]): Promise<void> {
    const args = ['--quiet', '--no-tags', '--no-write-fetch-head', '--no-recurse-submodules'];
    await this.text(
      ['-c', 'fetch.negotiationAlgorithm=noop', 'fetch', ...args, '--filter=blob:none', '--stdin', 'origin'],
      { input: `${ids.join('\n')}\n` },
    );
  }

  /** Runs a command and streams its output. */
  async stream(
    args: readonly string[],
    consume: (output: AsyncIterable<Buffer>) => Promise<void>,
    options: RunOptions = {},
  ): Promise<void> {
    const { end } = await this.run(args, options, consume);
    if (end.code !== 0) throw this.gitFailure(end);
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
  async text(args: readonly string[], options: RunOptions = {}): Promise<string> {
    const { end, output } = await this.run(args, options);
    if (end.code !== 0) throw this.gitFailure(end);
    return output;
  }

  private async run(
    args: readonly string[],
    { timeout, input }: RunOptions = {},
    consume?: (output: AsyncIterable<Buffer>) => Promise<void>,
  ): Promise<{ end: GitEnd; output: string }> {
    const { diskBytes } = this.limits;
    const fullDisk = new AbortController();
    const watch = setInterval(() => {
      void this.workspace.bytes().then((bytes) => {
        if (bytes > diskBytes) fullDisk.abort();
      });
    }, DISK_CHECK_MS);
    const chunks: Buffer[] = [];
    const keep = async (output: AsyncIterable<Buffer>) => {
      let length = 0;
      for await (const chunk of output) {
        chunks.push(chunk);
        if ((length += chunk.length) > MAX_OUTPUT_BYTES) return;
      }
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
        input,
        consume: consume ?? keep,
      });
      // The disk may have filled up since the last check.
      if ((await this.workspace.bytes()) > diskBytes) fullDisk.abort();
      fullDisk.signal.throwIfAborted();
      return { end: await this.withSshLog(end), output: Buffer.concat(chunks).toString() };
    } catch (error) {
      if (this.signal.aborted) throw error;
      if (error instanceof GitMissingError)
        throw new FetchError('git is not installed: install version 2.32 or newer');
      if (fullDisk.signal.aborted)
        throw this.failure(`fetching it takes more than ${Math.round(diskBytes / MIB)} MiB of disk space`);
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

  failure(reason: string): FetchError {
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
