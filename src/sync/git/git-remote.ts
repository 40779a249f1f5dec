import { createHash } from 'node:crypto';
import type { SettingsOf } from '../../source-kinds/kinds.js';
import { FetchError } from '../fetcher.js';
import { tooLargeSentence } from '../file/local-file.js';
import type { MemoryShare } from '../read-memory.js';
import {
  checkGitVersion,
  type GitEnd,
  type GitLimits,
  GitMissingError,
  LIMITS,
  LOCKED_DOWN,
  runGit,
} from './git-command.js';
import { type GitConnection, GitWorkspace } from './git-connection.js';

/** What git says, in the order in which it is looked for, and what it means for an operator. */
const MEANINGS: readonly (readonly [RegExp, (hasPassword: boolean) => string])[] = [
  [
    /from proxy after CONNECT|response from proxy|resolve proxy|CONNECT tunnel failed|returned error: 407/i,
    () => 'the proxy of HTTPS_PROXY or HTTP_PROXY does not let it through, or is not there',
  ],
  [
    /Authentication failed|could not read (Username|Password)|returned error: 401/,
    (hasPassword) =>
      hasPassword
        ? 'the user name or the password was refused'
        : 'it asks for a user name and a password, and git.auth is not set; some servers also say so of a repository that is not there',
  ],
  [/returned error: 403/, () => 'the access was denied (403): the account may not read this repository'],
  [
    /returned error: 404|repository '.*' not found|does not appear to be a git repository/i,
    (hasPassword) =>
      hasPassword
        ? 'there is no such repository, or the account may not see it'
        : 'there is no such repository, or it is private and git.auth is not set',
  ],
  [
    /returned error: 30\d|unable to update url base from redirection/,
    () => 'it redirects to another address, which is not followed: configure the final one',
  ],
  [/returned error: 429/, () => 'it takes no more requests for now (429)'],
  [/returned error: 5\d\d/, () => 'the server of the repository failed, with a status of 500 or above'],
  [/Host key verification failed/, () => 'its host key is not the one in git.auth.knownHostsFile'],
  [
    /Permission denied|Too many authentication failures|error in libcrypto|invalid format|incorrect passphrase/,
    () => 'the key was refused, or can not be used: it must have no passphrase',
  ],
  [/No user exists for uid/, () => 'ssh needs a user of this machine with the id of the server'],
  [/cannot run ssh|ssh: not found|ssh: command not found/, () => 'there is no ssh command on this machine'],
  [/Could not resolve host/, () => 'its host name could not be resolved'],
  [/Connection refused/, () => 'the connection was refused'],
  [/Failed to connect|Connection timed out|Couldn't connect/, () => 'no connection could be made'],
  [
    /SSL certificate problem|certificate verification failed|no alternative certificate subject|SSL_ERROR|gnutls_/i,
    () => 'its TLS certificate is not trusted; NODE_EXTRA_CA_CERTS names further authorities',
  ],
  [/Operation too slow/, () => 'it sent nothing for half a minute'],
  [
    /dumb http transport|not valid: is this a git repository|unable to parse|invalid server response|bad line length/i,
    () => 'what answers there is no Git server that speaks the smart protocol',
  ],
  [
    /not our ref|unadvertised object|no such remote ref|bad object/,
    () => 'the server does not have it, or does not give out single commits',
  ],
  [/couldn't find remote ref/, () => 'the branch or tag is gone'],
  [/No space left on device/, () => 'the temporary directory of this machine is full'],
  [/over limit \d+|Out of memory|out of memory/, () => 'it sent an object too large to be unpacked'],
  [
    /early EOF|Empty reply|Connection reset|hung up unexpectedly|RPC failed|unexpected disconnect/,
    () => 'the connection broke off',
  ],
];

/** Was the request refused for asking for less than everything? The filter may be switched off, or be only half there. */
export function refusesFilters(stderr: string): boolean {
  return /filter '?.*'? not supported|invalid filter|unadvertised object|not our ref/.test(stderr);
}

/**
 * A part of a sentence about what went wrong. Of the words of git only those it says itself are shown, for what is not
 * known here, and no secret it was given.
 */
export function explain(
  stderr: string,
  secrets: readonly string[],
  proxySecrets: readonly string[] = [],
): string {
  const own = stderr.split('\n').filter((line) => !line.startsWith('remote:'));
  const known = MEANINGS.find(([pattern]) => pattern.test(own.join('\n')));
  if (known) return known[1](secrets.length > 0);
  const fatal = own.findLast((line) => /^(fatal|error):/.test(line)) ?? 'no reason was given';
  const scrubbed = [...secrets, ...proxySecrets].reduce(
    (text, secret) => text.replaceAll(secret, '…'),
    fatal,
  );
  return `git failed: ${scrubbed.replaceAll(/\p{Cc}|\p{Surrogate}/gu, ' ').slice(0, 200)}`;
}

const MIB = 1024 * 1024;
const MAX_OUTPUT_BYTES = MIB;
const WATCH_MS = 200;
const LFS_POINTER = Buffer.from('version https://git-lfs.github.com/spec/');
const OBJECT_ID = /^([0-9a-f]{40}|[0-9a-f]{64})$/;

/** A file of a commit: its name among the objects of Git says what it holds. */
export interface Blob {
  readonly id: string;
  readonly path: string;
}

/** One visit to a repository, in a temporary directory of its own. Must be closed. */
export class GitRemote {
  private readonly deadline: AbortSignal;

  private constructor(
    private readonly way: GitConnection,
    private readonly workspace: GitWorkspace,
    private readonly signal: AbortSignal,
    private readonly limits: GitLimits,
  ) {
    this.deadline = AbortSignal.timeout(limits.totalMs);
  }

  static async open(
    way: GitConnection,
    signal: AbortSignal,
    limits: Partial<GitLimits> = {},
  ): Promise<GitRemote> {
    const remote = new GitRemote(way, await GitWorkspace.open(), signal, { ...LIMITS, ...limits });
    try {
      await remote.checkVersion();
      for (const [name, content] of Object.entries(way.files)) await remote.workspace.write(name, content);
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

  /** The commit that the branch, the tag or the default branch is at: one `ls-remote`. */
  async askCommit(settings: SettingsOf<'git'>): Promise<string> {
    const ref = refOf(settings);
    // Without one of the options the server lists whatever it has, pull requests included.
    const kind = settings.branch === undefined ? (settings.tag === undefined ? [] : ['--tags']) : ['--heads'];
    const listed = await this.text(
      ['ls-remote', '--quiet', ...kind, '--end-of-options', 'origin', ref, `${ref}^{}`],
      AbortSignal.timeout(this.limits.askMs),
    );
    const commits = new Map(
      listed.split('\n').map((line) => line.split('\t').reverse() as [string, string | undefined]),
    );
    // An annotated tag is an object of its own; the line with ^{} has what it stands for.
    const commit = commits.get(`${ref}^{}`) ?? commits.get(ref);
    if (commit === undefined || !OBJECT_ID.test(commit)) throw this.failure(missing(settings));
    if (commit.length === 64) await this.configure('sha256');
    return commit;
  }

  /** Fetches the commit alone, with its directories and without its files, and says which one it is. */
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
      throw this.failure(`${wanted} is no commit`);
    return commit;
  }

  /** @throws FetchError unless the path is that of a regular file. */
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
   * Fetches one file. Its size is read, and counted as memory of the run, before anything of it is kept.
   *
   * @throws FetchError
   * @throws ReadMemoryError
   */
  async read({ id, path }: Blob, memory: MemoryShare): Promise<{ bytes: Buffer; digest: Buffer }> {
    const { fileBytes } = this.limits;
    const tooLarge = tooLargeSentence(path, fileBytes);
    const diskBytes = (await this.workspace.bytes()) + fileBytes + MIB;
    const size = Number(await this.text(['cat-file', '-s', id], undefined, { diskBytes, tooLarge }));
    if (size > fileBytes) throw this.failure(tooLarge);
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
      throw this.failure(`${path} is kept in Git LFS, which is not read`);
    return { bytes, digest: hash.digest() };
  }

  private fetch(filter: readonly string[], wanted: string): Promise<GitEnd> {
    const args = ['--quiet', '--depth=1', ...filter, '--no-tags', '--no-recurse-submodules'];
    return this.run(['fetch', ...args, '--end-of-options', 'origin', wanted]).then(({ end }) => end);
  }

  private async checkVersion(): Promise<void> {
    const said = await this.text(['version']);
    checkGitVersion(said, this.way.isPinned);
  }

  private async configure(objectFormat: 'sha1' | 'sha256'): Promise<void> {
    await this.workspace.configure([
      ['core', { repositoryFormatVersion: '1', bare: 'true' }],
      ['extensions', { ...(objectFormat === 'sha1' ? {} : { objectFormat }), partialClone: 'origin' }],
      ['remote "origin"', { url: this.way.url, promisor: 'true', partialCloneFilter: 'blob:none' }],
      ...Object.entries(LOCKED_DOWN),
      ...this.way.configuration,
    ]);
  }

  /** What a command says, which is little. */
  private async text(args: readonly string[], timeout?: AbortSignal, bounds: Bounds = {}): Promise<string> {
    const { end, output } = await this.run(args, timeout, bounds);
    if (end.code !== 0) throw this.gitFailure(end);
    return output;
  }

  private async run(
    args: readonly string[],
    timeout?: AbortSignal,
    { diskBytes = this.limits.diskBytes, tooLarge }: Bounds = {},
    take?: (chunk: Buffer) => boolean,
  ): Promise<{ end: GitEnd; output: string }> {
    const fullDisk = new AbortController();
    const watch = setInterval(() => {
      void this.workspace.bytes().then((bytes) => {
        if (bytes > diskBytes) fullDisk.abort();
      });
    }, WATCH_MS);
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
        path: this.way.path,
        protocol: this.way.protocol,
        signal: AbortSignal.any(signals),
        take: take ?? keep,
      });
      return { end, output: Buffer.concat(chunks).toString() };
    } catch (error) {
      if (this.signal.aborted) throw error;
      if (error instanceof GitMissingError)
        throw new FetchError('There is no git command on this machine: install git 2.32 or newer');
      if (fullDisk.signal.aborted)
        throw this.failure(tooLarge ?? `more than ${Math.round(diskBytes / MIB)} MiB would be needed for it`);
      if (this.deadline.aborted || timeout?.aborted) throw this.failure('it did not answer in time');
      throw error;
    } finally {
      clearInterval(watch);
    }
  }

  private gitFailure({ stderr }: GitEnd): FetchError {
    return this.failure(explain(stderr, this.way.secrets, this.way.proxySecrets));
  }

  private failure(reason: string): FetchError {
    return new FetchError(`${this.way.url}: ${reason}`);
  }
}

interface Bounds {
  readonly diskBytes?: number;
  /** What to say when it takes more. */
  readonly tooLarge?: string;
}

function refOf({ branch, tag }: SettingsOf<'git'>): string {
  if (branch !== undefined) return `refs/heads/${branch}`;
  return tag === undefined ? 'HEAD' : `refs/tags/${tag}`;
}

function missing({ branch, tag }: SettingsOf<'git'>): string {
  if (branch !== undefined) return `there is no branch ${branch}; was it deleted or renamed?`;
  return tag === undefined
    ? 'it has no default branch; is it empty?'
    : `there is no tag ${tag}; was it deleted?`;
}
