import { join } from 'node:path';
import { mkdir, rm } from 'node:fs/promises';
import { Readable } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import { Inject, Injectable } from '@nestjs/common';
import type { ConfigType } from '@nestjs/config';
import { DataSource, type EntityManager } from 'typeorm';
import { CONTENT_ACTOR } from '../audit/audit-event.js';
import { AuditTrail } from '../audit/audit-trail.js';
import type { Claims } from '../claims/claims.js';
import { contentConfig } from '../config/slices.js';
import { waitForLocks } from '../database/locks.js';
import { type IncomingVersion, versionMapKey } from '../documents/entry-types.js';
import { noteChanged } from '../entry-store/entry-rows.queries.js';
import type { GitTree, TreeEntry } from '../git/git-tree.js';
import { ApiError } from '../http/errors.js';
import { weighedBatches } from '../limits/batches.js';
import { inTemporaryFolder, isJunk, MAX_FILES, MAX_PATH_BYTES, tooLarge, UnpackedFiles } from './archive.js';
import { ContentStore } from './content-store.queries.js';
import { type IncomingContent, withMembers } from './content-tree.js';
import {
  forgetOtherFolders,
  linkFolders,
  recordFolders,
  type StoredFolder,
  storedFolders,
  type VersionInFolder,
} from './source-folders.queries.js';
import { MANIFEST, type VersionFolder } from './version-folder.js';

/** Maximum folders fetched together and stored in one transaction; uploads wait for it. */
const MAX_FOLDERS_AT_ONCE = 100;
const MAX_FILES_AT_ONCE = 2 * MAX_FILES;
const MAX_BYTES_AT_ONCE = 16 * 1024 * 1024;
/** Maximum audit events about single folders per sync; its own event has the totals. */
const MAX_EVENTS = 1_000;

/** A folder whose content is about to be stored. */
interface ReadFolder {
  readonly folder: VersionFolder;
  /** The folder on disk with its files. */
  readonly directory: string;
  readonly content: IncomingContent | ApiError;
}

/** The result of reading a source that keeps its content in its own repository. */
interface ReadVersions {
  readonly entries: readonly IncomingVersion[];
  /** The folders of versions, by `versionMapKey`. */
  readonly folders?: ReadonlyMap<string, VersionFolder> | undefined;
  /** The commit that contains the folders. */
  readonly tree: GitTree;
}

/** The versions of a sync whose content is stored, or was refused. */
export interface KeptFolders {
  /** All versions that were read. Those with stored content reference it. */
  readonly entries: readonly IncomingVersion[];
  readonly versions: readonly VersionInFolder[];
  /** The keys of the folders that the source now has; null if it never had any. */
  readonly keys: readonly string[] | null;
  /** Whether some did not fit. */
  readonly isFull: boolean;
}

const FULL = new ApiError('content_full').message;

/**
 * Stores the content of skills and plugins from their source's repository (reference/content): first the files, so that
 * admission can use them, then, in the sync's transaction, the links from versions to files.
 */
@Injectable()
export class SourceFolders {
  constructor(
    private readonly dataSource: DataSource,
    private readonly store: ContentStore,
    private readonly audit: AuditTrail,
    @Inject(contentConfig.KEY) private readonly limits: ConfigType<typeof contentConfig>,
  ) {}

  /** Returns the folders of a source whose content was stored or refused, by their keys. */
  known(sourceId: number): Promise<ReadonlyMap<string, StoredFolder>> {
    return storedFolders(this.dataSource.manager, sourceId);
  }

  /**
   * Stores the files of versions, except for folders that are already known.
   *
   * @param retries whether to retry refused content.
   * @throws FetchError
   */
  async keep(
    sourceId: number,
    { entries, folders, tree }: ReadVersions,
    known: ReadonlyMap<string, StoredFolder>,
    retries: boolean,
  ): Promise<KeptFolders> {
    if (!folders) return { entries, versions: [], isFull: false, keys: known.size > 0 ? [] : null };
    const folderOf = (version: IncomingVersion) => folders.get(versionMapKey(version));
    const used = new Map(entries.flatMap((version) => folderOf(version) ?? []).map((one) => [one.key, one]));
    const found = new Map(
      [...known].filter(([key, { error }]) => used.has(key) && !(retries && error !== null)),
    );
    const missing = [...used.values()].filter(({ key }) => !found.has(key));
    for await (const batch of weighedBatches(
      missing,
      MAX_FOLDERS_AT_ONCE,
      MAX_FILES_AT_ONCE,
      ({ files }) => files.length,
    ))
      await inTemporaryFolder((directory) => this.keepBatch(sourceId, tree, batch, directory, found));
    const versions = entries.flatMap((version): VersionInFolder[] => {
      const folder = folderOf(version);
      if (!folder) return [];
      const { type, name, digest } = version;
      const stored = found.get(folder.key) ?? { commit: tree.commit, tree: null, error: FULL };
      return [{ ...{ type, name, digest, version: version.version }, ...stored }];
    });
    const treeOf = new Map(versions.map((version) => [versionMapKey(version), version.tree]));
    return {
      entries: entries.map((version) => {
        const contentTree = treeOf.get(versionMapKey(version)) ?? null;
        return contentTree === null ? version : { ...version, contentTree };
      }),
      versions,
      keys: [...found.keys()],
      isFull: found.size < used.size,
    };
  }

  /** Links versions to their files, in the transaction that stored the versions. */
  async link(
    manager: EntityManager,
    source: { readonly id: number; readonly name: string; readonly claims: Claims },
    { versions, keys }: KeptFolders,
  ): Promise<void> {
    const linked = await linkFolders(manager, source.id, versions);
    if (keys !== null) await forgetOtherFolders(manager, source.id, keys);
    if (linked.length === 0) return;
    // Responses that list content are cached by revision, and searches compare the members of content.
    await noteChanged(
      manager,
      source.id,
      linked.map(({ entryId }) => entryId),
    );
    await this.audit.writeItems(
      manager,
      CONTENT_ACTOR,
      linked.slice(0, MAX_EVENTS).map(({ type, name, version, tree, bytes, files }) => ({
        action: 'entry.content',
        target: { type, name, version, source: source.name },
        role: 'manageSources',
        claims: [source.claims],
        change: { after: { sha256: tree, bytes, files } },
      })),
    );
  }

  private async keepBatch(
    sourceId: number,
    tree: GitTree,
    folders: readonly VersionFolder[],
    directory: string,
    found: Map<string, StoredFolder>,
  ): Promise<void> {
    let read: ReadFolder[] = [];
    let bytes = 0;
    const flush = async () => {
      for (const [key, stored] of await this.write(sourceId, tree.commit, read)) found.set(key, stored);
      await Promise.all(read.map((one) => rm(one.directory, { recursive: true, force: true })));
      [read, bytes] = [[], 0];
    };
    await unpackFolders(tree, folders, directory, this.limits.maxBytesPerVersion, async (one) => {
      read.push(one);
      if (!(one.content instanceof ApiError))
        bytes += one.content.files.reduce((sum, file) => sum + file.bytes, 0);
      if (bytes >= MAX_BYTES_AT_ONCE) await flush();
    });
    await flush();
  }

  /** Stores folders; one at a time if there is no room for all. */
  private async write(
    sourceId: number,
    commit: string,
    read: readonly ReadFolder[],
  ): Promise<(readonly [string, StoredFolder])[]> {
    try {
      return await this.dataSource.transaction((manager) => this.writeAll(manager, sourceId, commit, read));
    } catch (error) {
      if (!(error instanceof ApiError) || error.code !== 'content_full') throw error;
      if (read.length <= 1) return [];
      const stored = [];
      for (const one of read) stored.push(...(await this.write(sourceId, commit, [one])));
      return stored;
    }
  }

  private async writeAll(
    manager: EntityManager,
    sourceId: number,
    commit: string,
    read: readonly ReadFolder[],
  ): Promise<(readonly [string, StoredFolder])[]> {
    await waitForLocks(manager);
    const stored: (readonly [string, StoredFolder])[] = [];
    for (const { folder, content } of read) {
      const kept =
        content instanceof ApiError
          ? { tree: null, error: [content.message, ...(content.details ?? [])].join('; ') }
          : { tree: (await this.store.write(manager, content)).digest, error: null };
      stored.push([folder.key, { commit, ...kept }]);
    }
    await recordFolders(manager, sourceId, stored);
    return stored;
  }
}

/** Writes the files of folders to disk, all from one process, and passes on each folder. */
async function unpackFolders(
  tree: GitTree,
  folders: readonly VersionFolder[],
  directory: string,
  maxBytes: number,
  each: (read: ReadFolder) => Promise<void>,
): Promise<void> {
  const unpackings = await Promise.all(
    folders.map(async (folder, index) => {
      const own = join(directory, String(index));
      await mkdir(own);
      return new Unpacking(folder, own, maxBytes);
    }),
  );
  const files = unpackings.flatMap((unpacking) => unpacking.files.map((file) => [unpacking, file] as const));
  let next = 0;
  let ended = 0;
  /** Passes on all folders before this one. */
  const endBefore = async (unpacking: Unpacking | undefined) => {
    for (let one = unpackings[ended]; one && one !== unpacking; one = unpackings[ended]) {
      ended += 1;
      await each(await one.end());
    }
  };
  await tree.stream(
    files.map(([, file]) => file),
    async (file, size, parts) => {
      const [unpacking] = files[next] ?? [];
      next += 1;
      await endBefore(unpacking);
      await unpacking?.add(file, size, parts);
    },
  );
  await endBefore(undefined);
}

/** A folder that is being written to disk. */
class Unpacking {
  /** Undefined if there are too many files. */
  readonly files: readonly TreeEntry[];
  private readonly unpacked: UnpackedFiles;
  private refusal: ApiError | undefined;

  constructor(
    private readonly folder: VersionFolder,
    private readonly directory: string,
    maxBytes: number,
  ) {
    const isTooLarge = folder.files.length > MAX_FILES;
    this.files = isTooLarge ? [] : folder.files.filter(({ kind }) => kind !== 'submodule');
    this.unpacked = new UnpackedFiles(directory, maxBytes);
    if (isTooLarge) this.refusal = tooLarge(`it has more than ${MAX_FILES} files`);
  }

  async add(
    { path, kind, isExecutable }: TreeEntry,
    size: number,
    parts: AsyncIterable<Buffer>,
  ): Promise<void> {
    const inner = path.slice(this.folder.path === '' ? 0 : this.folder.path.length + 1);
    await this.unlessRefused(async () => {
      if (isJunk(inner)) return;
      if (kind === 'file') await this.unpacked.addFile(inner, isExecutable, Readable.from(parts), size);
      else if (size > 2 * MAX_PATH_BYTES) throw tooLarge('a symbolic link is too long');
      else this.unpacked.addLink(inner, (await buffer(parts)).toString());
    });
  }

  async end(): Promise<ReadFolder> {
    const { folder, directory } = this;
    let content: IncomingContent | undefined;
    await this.unlessRefused(async () => {
      if (folder.manifest !== null)
        await this.unpacked.addFile(MANIFEST, false, Readable.from([Buffer.from(folder.manifest)]));
      content = await withMembers(this.unpacked.finish({ keepsTop: true }));
    });
    const refusal = this.refusal ?? new ApiError('invalid_archive');
    return { folder, directory, content: content ?? refusal };
  }

  private async unlessRefused(work: () => Promise<void>): Promise<void> {
    if (this.refusal) return;
    try {
      await work();
    } catch (error) {
      if (!(error instanceof ApiError)) throw error;
      this.refusal = error;
    }
  }
}
