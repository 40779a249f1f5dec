import { createHash } from 'node:crypto';
import { Inject, Injectable } from '@nestjs/common';
import type { ConfigType } from '@nestjs/config';
import { DataSource, type EntityManager } from 'typeorm';
import { contentConfig } from '../config/slices.js';
import { lockContent, tryLockContent } from '../database/statements.js';
import { ApiError } from '../http/errors.js';
import { bumpRevision } from '../sources/sources.queries.js';
import {
  bytesOf,
  type IncomingFile,
  sortFiles,
  summaryOf,
  type Tree,
  type TreeFile,
  type TreeSummary,
} from './content-tree.js';

/** Size of the parts in which files are stored and read. */
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
    @Inject(contentConfig.KEY) private readonly limits: ConfigType<typeof contentConfig>,
  ) {}

  /** Returns the files of a version; null if it has no content. */
  async treeOf(versionId: string): Promise<Tree | null> {
    const digest = (await this.digestsOf([versionId])).get(versionId);
    return digest === undefined ? null : this.tree(digest);
  }

  /** Returns the digests of these versions' trees, by version id; versions without content are absent. */
  async digestsOf(versionIds: readonly string[]): Promise<Map<string, string>> {
    const rows = await this.dataSource.query<{ id: string; digest: string }[]>(
      `select version_id as id, encode(tree, 'hex') as digest from version_content
       where version_id = any($1::bigint[])`,
      [versionIds],
    );
    return new Map(rows.map(({ id, digest }) => [id, digest]));
  }

  /** Returns a tree by its digest; null if it was deleted because no version has it anymore. */
  async tree(digest: string): Promise<Tree | null> {
    const files = await this.dataSource.query<TreeFile[]>(
      `select f.path, encode(f.blob, 'hex') as digest, b.bytes, f.is_executable as executable
       from content_file f join content_blob b on b.digest = f.blob
       where f.tree = decode($1, 'hex') order by f.path`,
      [digest],
    );
    return files.length === 0 ? null : { digest, bytes: bytesOf(files), files };
  }

  /**
   * Reads a file, one chunk at a time: as fast as its consumer, without a transaction.
   *
   * @param digest see `TreeFile`.
   * @param turn waits for a permit to read a chunk.
   * @throws Error if the file is deleted while it is read, because the last version with it is gone.
   */
  async *read(digest: string, turn: Turn = (work) => work()): AsyncGenerator<Buffer> {
    for (let position = 0, left = 1; left > 0; position += 1) {
      const [row] = await turn(() =>
        // In base64: as hexadecimal digits, the default, a chunk takes half as much memory again on its way.
        this.dataSource.query<{ bytes: number; data: string | null }[]>(
          `select b.bytes, encode(c.data, 'base64') as data from content_blob b
           left join content_chunk c on c.blob = b.digest and c.position = $2
           where b.digest = decode($1, 'hex')`,
          [digest, position],
        ),
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
   * Stores the content of a version. Runs in the caller's transaction: nothing is left behind if it fails.
   *
   * @returns the digest and size of the tree.
   * @throws ApiError 404 `version_not_found`, 409 `content_exists`, 413 `content_too_large`, 507 `content_full`.
   */
  async put(
    manager: EntityManager,
    versionId: string,
    incoming: readonly IncomingFile[],
  ): Promise<TreeSummary> {
    const files = sortFiles(incoming);
    const tree = summaryOf(files);
    if (tree.bytes > this.limits.maxBytesPerVersion) throw new ApiError('content_too_large');
    await lockContent(manager);
    const added = await missingBlobs(manager, files);
    const [{ stored = '0' } = {}] = await manager.query<{ stored?: string }[]>(
      `select coalesce(sum(bytes), 0) as stored from content_blob`,
    );
    if (added.length > 0 && Number(stored) + bytesOf(added) > this.limits.maxBytes)
      throw new ApiError('content_full');
    for (const file of added) await writeBlob(manager, file);
    await writeTree(manager, tree, files);
    const sourceId = await lockVersion(manager, versionId);
    await manager.query(`insert into version_content (version_id, tree) values ($1, decode($2, 'hex'))`, [
      versionId,
      tree.digest,
    ]);
    await manager.query(`update content_fetch set fetch_at = null, error = null where version_id = $1`, [
      versionId,
    ]);
    // Answers that list content are cached by revision.
    await bumpRevision(manager, sourceId);
    return tree;
  }

  /**
   * Deletes trees that no version and no held item has, then files of no tree, up to `rows` of each.
   *
   * @returns how many files and trees were deleted; null while content is being stored or deleted elsewhere.
   */
  async deleteUnused(rows: number): Promise<number | null> {
    return this.dataSource.transaction(async (manager) => {
      if (!(await tryLockContent(manager))) return null;
      const [, trees] = await manager.query<[unknown[], number]>(
        `delete from content_tree where digest in (
           select digest from content_tree t
           where not exists (select 1 from version_content where tree = t.digest)
             and not exists (select 1 from admission_item where content_tree = t.digest and status = 'held')
           limit $1)`,
        [rows],
      );
      const [, blobs] = await manager.query<[unknown[], number]>(
        `delete from content_blob where digest in (
           select digest from content_blob b where not exists (select 1 from content_file where blob = b.digest)
           limit $1)`,
        [rows],
      );
      return Math.max(trees, blobs);
    });
  }
}

/**
 * Locks the version, so that it is not removed before its content is stored, and returns the id of its source. Locks the
 * source first, as a sync does.
 */
async function lockVersion(manager: EntityManager, versionId: string): Promise<number> {
  await manager.query(
    `select 1 from source where id = (
       select e.source_id from entry_version v join entry e on e.id = v.entry_id where v.id = $1
     ) for no key update`,
    [versionId],
  );
  const [version] = await manager.query<{ hasContent: boolean; sourceId: number }[]>(
    `select exists (select 1 from version_content where version_id = v.id) as "hasContent",
       e.source_id as "sourceId"
     from entry_version v join entry e on e.id = v.entry_id where v.id = $1 for key share of v`,
    [versionId],
  );
  if (!version) throw new ApiError('version_not_found');
  if (version.hasContent) throw new ApiError('content_exists');
  return version.sourceId;
}

/** Returns the files that are not stored, each once. */
async function missingBlobs(
  manager: EntityManager,
  files: readonly IncomingFile[],
): Promise<readonly IncomingFile[]> {
  const byDigest = new Map(files.map((file) => [file.digest, file]));
  const known = await manager.query<{ digest: string }[]>(
    `select encode(digest, 'hex') as digest from content_blob
     where digest in (select decode(n, 'hex') from unnest($1::text[]) as n)`,
    [[...byDigest.keys()]],
  );
  for (const { digest } of known) byDigest.delete(digest);
  return [...byDigest.values()];
}

async function writeBlob(manager: EntityManager, { digest, bytes, open }: IncomingFile): Promise<void> {
  await manager.query(`insert into content_blob (digest, bytes) values (decode($1, 'hex'), $2)`, [
    digest,
    bytes,
  ]);
  const hash = createHash('sha256');
  let position = 0;
  for await (const data of inChunks(open())) {
    hash.update(data);
    await manager.query(
      `insert into content_chunk (blob, position, data) values (decode($1, 'hex'), $2, $3)`,
      [digest, position, data],
    );
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

async function writeTree(
  manager: EntityManager,
  { digest, bytes }: TreeSummary,
  files: readonly TreeFile[],
): Promise<void> {
  const added = await manager.query<unknown[]>(
    `insert into content_tree (digest, bytes) values (decode($1, 'hex'), $2) on conflict do nothing returning 1`,
    [digest, bytes],
  );
  if (added.length === 0) return;
  await manager.query(
    `insert into content_file (tree, path, blob, is_executable)
     select decode($1, 'hex'), n.path, decode(n.blob, 'hex'), n.is_executable
     from unnest($2::text[], $3::text[], $4::boolean[]) as n(path, blob, is_executable)`,
    [
      digest,
      files.map(({ path }) => path),
      files.map((file) => file.digest),
      files.map(({ executable }) => executable),
    ],
  );
}
