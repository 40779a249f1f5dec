import { mkdtemp, rename, rm, utimes, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Logger, type OnApplicationShutdown } from '@nestjs/common';
import { SharedReads } from '../database/shared-reads.js';
import { ApiError } from '../http/errors.js';
import { removeLeftovers } from '../limits/leftovers.js';
import { Semaphore } from '../limits/semaphore.js';
import { LocalGit, runLocalGit, succeeded } from './local-git.js';
import type { TreeFile } from './plugin-tree.js';

/** Limits of the repositories on disk. */
export interface CacheLimits {
  /** Of all repositories, by the sizes of their files before compression. */
  readonly bytes: number;
  /** Of one repository. */
  readonly files: number;
  readonly buildMs: number;
  /** How long clients may read a repository, without a break, before it makes room for a smaller one. */
  readonly readMs: number;
}

const MIB = 1024 ** 2;
export const CACHE_LIMITS: CacheLimits = {
  bytes: 512 * MIB,
  files: 100_000,
  buildMs: 120_000,
  readMs: 60_000,
};

const DIRECTORY_PREFIX = 'registry-marketplaces-';
/** Running servers refresh their directory more often. */
const LEFTOVER_MS = 24 * 60 * 60_000;
const REFRESH_MS = 60 * 60_000;

/** What a repository contains. */
export interface RepositoryPlan {
  /** Equal for equal trees. */
  readonly key: string;
  files(): Promise<readonly TreeFile[]>;
  read(digest: string): AsyncIterable<Buffer>;
}

interface Stored {
  readonly directory: string;
  readonly bytes: number;
  users: number;
  /** Since when clients read it without a break, on the clock of `performance.now()`. */
  readSince: number;
  readonly deleted: AbortController;
}

/** A repository that stays on disk until it is released or `deleted` aborts. */
export interface RepositoryLease {
  readonly directory: string;
  readonly deleted: AbortSignal;
  release(): void;
}

/**
 * The bare repositories of views, on this replica's disk (contract §13). Each has a single commit and no object of any other
 * view, so no object id leads to one. The least recently used ones are deleted to make room, then large ones that clients
 * read slowly.
 */
export class RepositoryCache implements OnApplicationShutdown {
  private readonly logger = new Logger('marketplace');
  /** Least recently used first. */
  private readonly stored = new Map<string, Stored>();
  private readonly building = new SharedReads<string, Stored>();
  private readonly builds: Semaphore;
  private readonly stopping = new AbortController();
  private root: Promise<string> | undefined;
  private refreshing: NodeJS.Timeout | undefined;
  /** Of stored repositories, and of the one that is being built. */
  private bytes = 0;

  constructor(private readonly limits: CacheLimits) {
    this.builds = new Semaphore(1, limits.buildMs);
  }

  /**
   * Returns the repository, building it if it is not on disk.
   *
   * @param callerKey identifies the caller, for turns: one repository is built at a time.
   * @throws ApiError 507 `marketplace_too_large`, SemaphoreTimeout.
   */
  async lease(plan: RepositoryPlan, callerKey: string): Promise<RepositoryLease> {
    const { key } = plan;
    const found = this.stored.get(key) ?? (await this.building.share(key, () => this.build(plan, callerKey)));
    // It may have been deleted since to make room.
    if (this.stored.get(key) !== found) return this.lease(plan, callerKey);
    this.stored.delete(key);
    this.stored.set(key, found);
    if (found.users === 0) found.readSince = performance.now();
    found.users += 1;
    const { directory, deleted } = found;
    return { directory, deleted: deleted.signal, release: () => void (found.users -= 1) };
  }

  async onApplicationShutdown(): Promise<void> {
    this.stopping.abort(new Error('The server is stopping'));
    clearInterval(this.refreshing);
    const root = await this.root?.catch(() => undefined);
    if (root !== undefined) await rm(root, { recursive: true, force: true });
  }

  private async build(plan: RepositoryPlan, callerKey: string): Promise<Stored> {
    const release = await this.builds.acquire(callerKey);
    try {
      const files = await plan.files();
      const bytes = files.reduce((sum, file) => sum + sizeOf(file), 0);
      if (files.length > this.limits.files || bytes > this.limits.bytes)
        throw new ApiError('marketplace_too_large');
      await this.makeRoom(bytes);
      this.bytes += bytes;
      try {
        const directory = await this.write(plan, files);
        const stored = { directory, bytes, users: 0, readSince: 0, deleted: new AbortController() };
        this.stored.set(plan.key, stored);
        return stored;
      } catch (error) {
        this.bytes -= bytes;
        throw error;
      }
    } finally {
      release();
    }
  }

  /** @throws ApiError 503 `overloaded` if clients are still reading too many of the stored repositories. */
  private async makeRoom(bytes: number): Promise<void> {
    const isUnused = ({ users }: Stored) => users === 0;
    const isSlow = ({ bytes: size, readSince }: Stored) =>
      size > bytes && performance.now() - readSince > this.limits.readMs;
    for (const isSpare of [isUnused, isSlow])
      for (const [key, stored] of this.stored) {
        if (this.bytes + bytes <= this.limits.bytes) return;
        if (!isSpare(stored)) continue;
        this.stored.delete(key);
        this.bytes -= stored.bytes;
        stored.deleted.abort(new ApiError('overloaded'));
        await rm(stored.directory, { recursive: true, force: true });
      }
    if (this.bytes + bytes > this.limits.bytes) throw new ApiError('overloaded');
  }

  private async write(plan: RepositoryPlan, files: readonly TreeFile[]): Promise<string> {
    const root = await (this.root ??= this.createRoot());
    const signal = AbortSignal.any([this.stopping.signal, AbortSignal.timeout(this.limits.buildMs)]);
    const unfinished = await mkdtemp(join(root, 'new-'));
    try {
      await createRepository(unfinished, files, (digest) => plan.read(digest), signal);
      const directory = join(root, `${plan.key}.git`);
      await rename(unfinished, directory);
      return directory;
    } catch (error) {
      await rm(unfinished, { recursive: true, force: true });
      throw error;
    }
  }

  private async createRoot(): Promise<string> {
    await removeLeftovers(DIRECTORY_PREFIX, LEFTOVER_MS);
    const root = await mkdtemp(join(tmpdir(), DIRECTORY_PREFIX));
    this.refreshing = setInterval(() => {
      utimes(root, new Date(), new Date()).catch((err: unknown) =>
        this.logger.warn({ err, root }, 'The directory of marketplaces could not be refreshed'),
      );
    }, REFRESH_MS).unref();
    return root;
  }
}

function sizeOf(file: TreeFile): number {
  return 'text' in file ? Buffer.byteLength(file.text) : file.bytes;
}

/** Clients may fetch objects without their files first. Nothing but `upload-pack` ever runs in the repository. */
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

/** 2000-01-01T00:00:00Z. With fixed dates and names, equal trees have equal commits (contract §13). */
const COMMITTER = 'Registry <registry@localhost> 946684800 +0000';
const MESSAGE = 'Marketplace\n';

/** Writes a bare repository with one commit without parents. */
async function createRepository(
  directory: string,
  files: readonly TreeFile[],
  read: (digest: string) => AsyncIterable<Buffer>,
  signal: AbortSignal,
): Promise<void> {
  await runLocalGit(directory, ['init', '--quiet', '--bare', '--template=', '--initial-branch=main'], signal);
  await writeFile(join(directory, 'config'), CONFIGURATION);
  const args = ['fast-import', '--quiet', '--done'];
  const git = new LocalGit(directory, ['-c', 'fastimport.unpackLimit=0', ...args], signal);
  git.child.stdout.resume();
  try {
    const changes: string[] = [];
    const marks = new Map<string, number>();
    for (const file of files) {
      const content = 'text' in file ? `text ${file.path}` : file.digest;
      let mark = marks.get(content);
      if (mark === undefined) {
        mark = marks.size + 1;
        marks.set(content, mark);
        await git.write(`blob\nmark :${mark}\ndata ${sizeOf(file)}\n`);
        if ('text' in file) await git.write(file.text);
        else for await (const chunk of read(file.digest)) await git.write(chunk);
        await git.write('\n');
      }
      changes.push(`M ${file.executable ? '100755' : '100644'} :${mark} ${quoted(`${file.path}`)}\n`);
    }
    await git.write(`commit refs/heads/main\ncommitter ${COMMITTER}\ndata ${MESSAGE.length}\n${MESSAGE}`);
    for (const change of changes) await git.write(change);
    git.end(Buffer.from('\ndone\n'));
    await succeeded(git, args);
  } catch (error) {
    git.kill();
    throw error;
  }
}

/** Quotes a path for `git fast-import`. */
function quoted(path: string): string {
  return `"${path.replaceAll(/["\\]/g, '\\$&').replaceAll('\n', '\\n')}"`;
}
