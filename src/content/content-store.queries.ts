import { createHash } from 'node:crypto';
import { Inject, Injectable } from '@nestjs/common';
import type { ConfigType } from '@nestjs/config';
import { InjectRepository } from '@nestjs/typeorm';
import { Any, DataSource, type EntityManager, In, LessThan, Repository } from 'typeorm';
import { contentConfig } from '../config/slices.js';
import { insertMany } from '../database/bulk.js';
import { lockContent, tryLockContent } from '../database/locks.js';
import { ApiError } from '../http/errors.js';
import { MEMBERS_VERSION, memberTokens } from '../members/members.js';
import type { Members } from '../members/members.responses.js';
import { ContentBlob, ContentChunk, ContentFile, ContentTree, VersionContent } from './content.entity.js';
import {
  bytesOf,
  type FoundInFiles,
  type IncomingContent,
  type IncomingFile,
  sortFiles,
  treeSummaryOf,
  type Tree,
  type ContentTreeFile,
  type TreeSummary,
} from './content-tree.js';

/** Size of the chunks in which files are stored and read. */
export const CHUNK_BYTES = 256 * 1024;

/** Runs work once a permit is free. */
export type Turn = <T>(work: () => Promise<T>) => Promise<T>;

/**
 * The files of versions (reference/content), stored once by SHA-256. Nothing in it ever changes. Callers must have checked
 * that the reader may see the version.
 */
@Injectable()
export class ContentStore {
  constructor(
    private readonly dataSource: DataSource,
    @InjectRepository(VersionContent) private readonly contents: Repository<VersionContent>,
    @InjectRepository(ContentFile) private readonly files: Repository<ContentFile>,
    @Inject(contentConfig.KEY) private readonly limits: ConfigType<typeof contentConfig>,
  ) {}

  /** Returns the files of a version; null if it has no content. */
  async treeOf(versionId: string): Promise<Tree | null> {
    const digest = (await this.digestsOf([versionId])).get(versionId);
    return digest === undefined ? null : this.tree(digest);
  }

  /** Returns the digests of these versions' trees, by version id; versions without content are absent. */
  async digestsOf(versionIds: readonly string[]): Promise<Map<string, string>> {
    const contents = await this.contents.findBy({ versionId: Any(versionIds) });
    return new Map(contents.map(({ versionId, tree }) => [versionId, tree]));
  }

  /** Returns a tree by its digest; null if it was deleted because no version has it anymore. */
  async tree(digest: string): Promise<Tree | null> {
    const files = await this.files
      .createQueryBuilder('file')
      .innerJoin('file.file', 'blob')
      .select('file.path', 'path')
      .addSelect(`encode(file.blob, 'hex')`, 'digest')
      .addSelect('blob.bytes', 'bytes')
      .addSelect('file.isExecutable', 'executable')
      .where({ tree: digest })
      .orderBy('file.path')
      .getRawMany<ContentTreeFile>();
    return files.length === 0 ? null : { digest, bytes: bytesOf(files), files };
  }

  /** Returns the members of a tree; null if it was deleted because no version has it anymore. */
  async membersOf(digest: string): Promise<Members | null> {
    const tree = await this.dataSource.manager.findOneBy(ContentTree, { digest });
    return tree?.members ?? null;
  }

  /**
   * Reads a file one chunk at a time, as fast as its consumer reads, without a transaction.
   *
   * @param digest see `ContentTreeFile`.
   * @param turn waits for a permit to read a chunk.
   * @throws Error if the file is deleted while being read, because the last version with it is gone.
   */
  async *read(digest: string, turn: Turn = (work) => work()): AsyncGenerator<Buffer> {
    for (let position = 0, left = 1; left > 0; position += 1) {
      const row = await turn(() =>
        // Uses base64, because the default, hexadecimal, would take 1.5 times the memory in transit.
        this.dataSource
          .createQueryBuilder(ContentBlob, 'blob')
          .leftJoin(ContentChunk, 'chunk', 'chunk.blob = blob.digest and chunk.position = :position', {
            position,
          })
          .select('blob.bytes', 'bytes')
          .addSelect(`encode(chunk.data, 'base64')`, 'data')
          .where({ digest })
          .getRawOne<{ bytes: number; data: string | null }>(),
      );
      left = row ? row.bytes - position * CHUNK_BYTES : 1;
      if (left <= 0) return;
      if (!row?.data) throw new Error('The content was deleted while it was read');
      const data = Buffer.from(row.data, 'base64');
      yield data;
      left -= data.length;
    }
  }

  /**
   * Stores files and members as a tree. The tree is deleted again unless the same transaction assigns it to an owner
   * (see `ContentAdmission.attach`). This may take long, so call it before locking entries or sources.
   *
   * @throws ApiError 413 `content_too_large`, 507 `content_full`.
   */
  async write(manager: EntityManager, { files: incoming, ...found }: IncomingContent): Promise<TreeSummary> {
    const files = sortFiles(incoming);
    const tree = treeSummaryOf(files);
    if (tree.bytes > this.limits.maxBytesPerVersion) throw new ApiError('content_too_large');
    await lockContent(manager);
    const added = await missingBlobs(manager, files);
    const stored = (await manager.sum(ContentBlob, 'bytes')) ?? 0;
    if (added.length > 0 && stored + bytesOf(added) > this.limits.maxBytes)
      throw new ApiError('content_full');
    for (const file of added) await writeBlob(manager, file);
    await writeTree(manager, tree, files, found);
    return tree;
  }

  /** Returns the digests of trees whose members an earlier version of the function read. */
  async outdatedTrees(): Promise<string[]> {
    const trees = await this.dataSource.manager.find(ContentTree, {
      select: { digest: true },
      where: { membersVersion: LessThan(MEMBERS_VERSION) },
    });
    return trees.map(({ digest }) => digest);
  }

  /** @returns false if the tree is gone, or another replica was faster. */
  async replaceMembers(manager: EntityManager, digest: string, found: FoundInFiles): Promise<boolean> {
    await lockContent(manager);
    const { affected } = await manager.update(
      ContentTree,
      { digest, membersVersion: LessThan(MEMBERS_VERSION) },
      columnsOf(found),
    );
    return affected === 1;
  }

  /**
   * Deletes trees that no version, held item or source folder uses, then files that no tree uses, up to `rows` of each.
   *
   * @returns how many files and trees were deleted; null while content is being stored or deleted elsewhere.
   */
  async deleteUnused(rows: number): Promise<number | null> {
    return this.dataSource.transaction(async (manager) => {
      if (!(await tryLockContent(manager))) return null;
      const trees = await deleteSome(
        manager,
        'content_tree',
        rows,
        `not exists (select from version_content where tree = stored.digest)
         and not exists (select from source_folder where tree = stored.digest)
         and not exists (select from admission_item where content_tree = stored.digest and status = 'held')`,
      );
      const noFile = 'not exists (select from content_file where blob = stored.digest)';
      return Math.max(trees, await deleteSome(manager, 'content_blob', rows, noFile));
    });
  }
}

/** Deletes up to `rows` rows. The condition refers to the table as `stored`. */
async function deleteSome(
  manager: EntityManager,
  table: 'content_tree' | 'content_blob',
  rows: number,
  condition: string,
): Promise<number> {
  const [, deleted] = await manager.query<[unknown[], number]>(
    `delete from ${table} where digest in (select digest from ${table} stored where ${condition} limit $1)`,
    [rows],
  );
  return deleted;
}

/** Returns the distinct files that are not stored yet. */
async function missingBlobs(
  manager: EntityManager,
  files: readonly IncomingFile[],
): Promise<readonly IncomingFile[]> {
  const byDigest = new Map(files.map((file) => [file.digest, file]));
  const known = await manager.findBy(ContentBlob, { digest: In([...byDigest.keys()]) });
  for (const { digest } of known) byDigest.delete(digest);
  return [...byDigest.values()];
}

async function writeBlob(manager: EntityManager, { digest, bytes, open }: IncomingFile): Promise<void> {
  await manager.insert(ContentBlob, { digest, bytes });
  const hash = createHash('sha256');
  let position = 0;
  for await (const data of inChunks(open())) {
    hash.update(data);
    await manager.insert(ContentChunk, { blob: digest, position, data });
    position += 1;
  }
  if (hash.digest('hex') !== digest) throw new Error('The file to store changed after it was checked');
}

/** Regroups bytes into chunks of `CHUNK_BYTES`; only the last one may be shorter. */
async function* inChunks(bytes: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  let parts: Buffer[] = [];
  let length = 0;
  for await (let part of bytes) {
    while (length + part.length >= CHUNK_BYTES) {
      const taken = CHUNK_BYTES - length;
      yield Buffer.concat([...parts, part.subarray(0, taken)]);
      part = part.subarray(taken);
      parts = [];
      length = 0;
    }
    if (part.length > 0) parts.push(part);
    length += part.length;
  }
  if (length > 0) yield Buffer.concat(parts);
}

function columnsOf({ members, pluginServers }: FoundInFiles): Omit<ContentTree, 'digest' | 'bytes'> {
  return { members, pluginServers, memberTokens: memberTokens(members), membersVersion: MEMBERS_VERSION };
}

async function writeTree(
  manager: EntityManager,
  { digest, bytes }: TreeSummary,
  files: readonly ContentTreeFile[],
  found: FoundInFiles,
): Promise<void> {
  if (await manager.existsBy(ContentTree, { digest })) return;
  await manager.insert(ContentTree, { digest, bytes, ...columnsOf(found) });
  await insertMany(
    manager,
    ContentFile,
    files.map(({ path, digest: blob, executable }) => ({
      tree: digest,
      path,
      blob,
      isExecutable: executable,
    })),
  );
}
