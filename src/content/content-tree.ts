import { createHash } from 'node:crypto';
import { buffer } from 'node:stream/consumers';
import { type PluginServers, pluginServersOf } from '../members/plugin-servers.js';
import { type MemberFile, readMembers, type ReadMembers } from '../members/read-members.js';

/** A file of a version. */
export interface ContentTreeFile {
  /** Relative, with `/` between its segments. */
  readonly path: string;
  /** SHA-256 of the bytes, in hexadecimal. */
  readonly digest: string;
  readonly bytes: number;
  readonly executable: boolean;
}

/** The files of a version, sorted by the UTF-8 bytes of their paths. */
export interface Tree {
  /** `treeDigest` of the files; the ETag of the content. */
  readonly digest: string;
  /** The sum of the files' sizes. */
  readonly bytes: number;
  readonly files: readonly ContentTreeFile[];
}

export interface IncomingFile extends ContentTreeFile {
  readonly open: () => AsyncIterable<Buffer>;
}

/** Files to store, with the members that clients find in them. */
export interface IncomingContent extends FoundInFiles {
  readonly files: readonly IncomingFile[];
}

/** The members that clients find in files. */
export interface FoundInFiles extends Pick<ReadMembers, 'members'> {
  readonly pluginServers: PluginServers;
}

export async function foundIn<File extends MemberFile>(
  files: readonly File[],
  read: (file: File) => Promise<Buffer>,
): Promise<FoundInFiles> {
  const { members, servers } = await readMembers(files, read);
  return { members, pluginServers: await pluginServersOf(files, servers, read) };
}

/** Reads the members of files. Slow: call it before the transaction that stores them. */
export async function withMembers(files: readonly IncomingFile[]): Promise<IncomingContent> {
  return { files, ...(await foundIn(files, ({ open }) => buffer(open()))) };
}

/** Returns files in tree order: by the bytes of their paths, like PostgreSQL's collation C. */
export function sortFiles<File extends ContentTreeFile>(files: readonly File[]): File[] {
  const keyed = files.map((file) => ({ file, key: Buffer.from(file.path) }));
  return keyed.sort((one, other) => Buffer.compare(one.key, other.key)).map(({ file }) => file);
}

export type TreeSummary = Omit<Tree, 'files'>;

export function treeSummaryOf(files: readonly ContentTreeFile[]): TreeSummary {
  return { digest: treeDigest(sortFiles(files)), bytes: bytesOf(files) };
}

export function bytesOf(files: readonly Pick<ContentTreeFile, 'bytes'>[]): number {
  return files.reduce((sum, { bytes }) => sum + bytes, 0);
}

/** Returns the SHA-256 of the sorted list of paths, file digests, sizes and executable bits (reference/content). */
function treeDigest(sorted: readonly ContentTreeFile[]): string {
  const list = sorted.map(({ path, digest, bytes, executable }) => [path, digest, bytes, executable]);
  return createHash('sha256').update(JSON.stringify(list)).digest('hex');
}
