import { readdir, rm, utimes } from 'node:fs/promises';
import { Logger, type OnApplicationBootstrap, type OnApplicationShutdown } from '@nestjs/common';
import { ApiError } from '../http/errors.js';
import { Semaphore, unlessAborted } from '../limits/semaphore.js';
import { createTemporary, removeLeftovers } from '../limits/leftovers.js';
import type { RepositoryFile } from './marketplace-tree.js';
import { createRepository, sizeOfFile } from './repository-build.js';

/** Limits of the repositories on disk, in bytes before compression. */
export interface CacheLimits {
  readonly totalBytes: number;
  /** Maximum bytes per repository. */
  readonly bytes: number;
  /** A repository up to this size is small: it does not wait for large ones, which leave room for it. */
  readonly smallBytes: number;
  /** Maximum files per repository. */
  readonly files: number;
  readonly buildMs: number;
  /** How long clients may continuously read a repository before it must make room for a smaller one. */
  readonly readMs: number;
}

const MIB = 1024 ** 2;
export const CACHE_LIMITS: CacheLimits = {
  totalBytes: 576 * MIB,
  bytes: 512 * MIB,
  smallBytes: 16 * MIB,
  files: 100_000,
  buildMs: 300_000,
  readMs: 60_000,
};
/** Number of small repositories for which large ones leave room. */
const RESERVED = 4;

const DIRECTORY_PREFIX = 'registry-marketplaces-';
/** Running servers refresh their directories more often than this. Longer than a build takes. */
const LEFTOVER_MS = 10 * 60_000;
const REFRESH_MS = 60_000;

/** The content of a repository. */
export interface RepositoryPlan {
  /** Equal for equal trees. */
  readonly key: string;
  files(): Promise<readonly RepositoryFile[]>;
  read(digest: string): AsyncIterable<Buffer>;
}

interface Stored {
  readonly directory: string;
  /** Number of files and folders in the directory. */
  readonly names: number;
  readonly bytes: number;
  users: number;
  /** When clients began to read it continuously, by `performance.now()`. */
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
 * The bare repositories of views, on this replica's disk (reference/marketplace). Each has a single commit and contains
 * no objects of other views, so no object ID gives access to them. The least recently used ones are deleted to make
 * room, then large ones that clients read slowly.
 */
export class RepositoryCache implements OnApplicationBootstrap, OnApplicationShutdown {
  private readonly logger = new Logger('marketplace');
  /** Ordered from the least to the most recently used. */
  private readonly stored = new Map<string, Stored>();
  private readonly building = new Map<string, Promise<Stored>>();
  /** Directories that are being written. */
  private readonly unfinished = new Set<string>();
  private readonly smallBuilds: Semaphore;
  private readonly largeBuilds: Semaphore;
  private readonly stopping = new AbortController();
  private refreshing: NodeJS.Timeout | undefined;
  /** Includes repositories that are being built. */
  private bytes = 0;

  constructor(private readonly limits: CacheLimits) {
    this.smallBuilds = new Semaphore(1, limits.buildMs);
    this.largeBuilds = new Semaphore(1, limits.buildMs);
  }

  onApplicationBootstrap(): void {
    void this.refresh();
    this.refreshing = setInterval(() => void this.refresh(), REFRESH_MS).unref();
  }

  /**
   * Returns the repository, building it if it is not on disk.
   *
   * @param callerKey identifies the caller: callers take turns, and one small and one large repository are built at a
   *   time.
   * @param signal aborts when the caller no longer waits. The build continues.
   * @throws ApiError 507 `marketplace_too_large`, 503 `overloaded`; SemaphoreTimeout; the reason of `signal`.
   */
  async lease(plan: RepositoryPlan, callerKey: string, signal: AbortSignal): Promise<RepositoryLease> {
    for (;;) {
      const found = this.stored.get(plan.key) ?? (await unlessAborted(this.built(plan, callerKey), signal));
      // It may have been deleted in the meantime to make room.
      if (this.stored.get(plan.key) !== found) continue;
      const lease = this.use(plan.key, found);
      if (await isIntact(found)) return lease;
      this.logger.warn({ directory: found.directory }, 'Files of a marketplace are missing: rebuilding it');
      lease.release();
      await this.delete(plan.key, found);
    }
  }

  async onApplicationShutdown(): Promise<void> {
    this.stopping.abort(new Error('The server is stopping'));
    clearInterval(this.refreshing);
    for (const directory of this.unfinished) await remove(directory);
    for (const [key, stored] of this.stored) await this.delete(key, stored);
  }

  private use(key: string, found: Stored): RepositoryLease {
    this.stored.delete(key);
    this.stored.set(key, found);
    if (found.users === 0) found.readSince = performance.now();
    found.users += 1;
    const { directory, deleted } = found;
    return { directory, deleted: deleted.signal, release: () => void (found.users -= 1) };
  }

  /**
   * Returns the build of this repository. Callers who ask for it while it runs share it, and it continues if they
   * leave.
   */
  private built(plan: RepositoryPlan, callerKey: string): Promise<Stored> {
    const pending = this.building.get(plan.key);
    if (pending) return pending;
    const built = this.build(plan, callerKey).finally(() => this.building.delete(plan.key));
    this.building.set(plan.key, built);
    return built;
  }

  private async build(plan: RepositoryPlan, callerKey: string): Promise<Stored> {
    const { smallBytes, bytes, totalBytes } = this.limits;
    const small = await this.smallBuilds.run(callerKey, undefined, () =>
      this.buildUpTo(smallBytes, totalBytes, plan),
    );
    if (small) return small;
    const large = await this.largeBuilds.run(callerKey, undefined, () =>
      this.buildUpTo(bytes, totalBytes - RESERVED * smallBytes, plan),
    );
    if (!large) throw new ApiError('marketplace_too_large');
    return large;
  }

  /** Returns undefined if the repository has more than `maxBytes`. */
  private async buildUpTo(
    maxBytes: number,
    totalBytes: number,
    plan: RepositoryPlan,
  ): Promise<Stored | undefined> {
    const files = await plan.files();
    const bytes = files.reduce((sum, file) => sum + sizeOfFile(file), 0);
    if (files.length > this.limits.files) throw new ApiError('marketplace_too_large');
    if (bytes > maxBytes) return undefined;
    await this.takeRoom(bytes, totalBytes);
    try {
      const written = await this.write(plan, files);
      const readSince = performance.now();
      const stored = { ...written, bytes, users: 1, readSince, deleted: new AbortController() };
      this.stored.set(plan.key, stored);
      // Counts as in use until its callers hold it; otherwise the next build could evict it.
      setImmediate(() => (stored.users -= 1));
      return stored;
    } catch (error) {
      this.bytes -= bytes;
      throw error;
    }
  }

  /**
   * Reserves the room for a repository, deleting others if necessary.
   *
   * @throws ApiError 503 `overloaded` if clients are still reading too many of the stored repositories.
   */
  private async takeRoom(bytes: number, limit: number): Promise<void> {
    const isUnused = ({ users }: Stored) => users === 0;
    const isSlow = ({ bytes: size, readSince }: Stored) =>
      size > bytes && performance.now() - readSince > this.limits.readMs;
    const deleted: Promise<void>[] = [];
    for (const isSpare of [isUnused, isSlow])
      for (const [key, stored] of this.stored) {
        if (this.bytes + bytes <= limit) break;
        if (isSpare(stored)) deleted.push(this.delete(key, stored));
      }
    // Other builds reserve room while files are being deleted.
    const hasRoom = this.bytes + bytes <= limit;
    if (hasRoom) this.bytes += bytes;
    await Promise.all(deleted);
    if (!hasRoom) throw new ApiError('overloaded');
  }

  /** Deletes a repository and ends the responses that read from it. */
  private async delete(key: string, stored: Stored): Promise<void> {
    if (this.stored.get(key) !== stored) return;
    this.stored.delete(key);
    this.bytes -= stored.bytes;
    stored.deleted.abort(new ApiError('overloaded'));
    await remove(stored.directory);
  }

  private async write(
    plan: RepositoryPlan,
    files: readonly RepositoryFile[],
  ): Promise<Pick<Stored, 'directory' | 'names'>> {
    const signal = AbortSignal.any([this.stopping.signal, AbortSignal.timeout(this.limits.buildMs)]);
    const directory = await createTemporary(DIRECTORY_PREFIX);
    this.unfinished.add(directory);
    try {
      await createRepository(directory, files, (digest) => plan.read(digest), signal);
      const names = await namesIn(directory);
      signal.throwIfAborted();
      return { directory, names };
    } catch (error) {
      await remove(directory);
      throw error;
    } finally {
      this.unfinished.delete(directory);
    }
  }

  /** Marks the directories as used, and removes those left by killed servers. */
  private async refresh(): Promise<void> {
    const now = new Date();
    for (const { directory } of this.stored.values())
      await utimes(directory, now, now).catch(() => undefined);
    await removeLeftovers(DIRECTORY_PREFIX, LEFTOVER_MS);
  }
}

// Git may have just been killed.
async function remove(directory: string): Promise<void> {
  await rm(directory, { recursive: true, force: true, maxRetries: 3 });
}

/** People and cleanup jobs of the operating system empty temporary folders. */
async function isIntact({ directory, names }: Stored): Promise<boolean> {
  return (await namesIn(directory).catch(() => 0)) === names;
}

async function namesIn(directory: string): Promise<number> {
  return (await readdir(directory, { recursive: true })).length;
}
