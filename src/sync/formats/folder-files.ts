import { createHash } from 'node:crypto';
import type { VersionFolder } from '../../content/version-folder.js';
import type { GitTree, TreeEntry } from '../../git/git-tree.js';
import { placeOfRepository } from '../../source-kinds/git-repository.js';
import type { MemoryCounter } from '../entry-validator.js';
import { FormatError } from './source-content.js';

/** Maximum number of files in all folders together, and the memory that each takes in addition to its path. */
const MAX_FILES = 300_000;
export const BYTES_PER_FILE = 300;
/** Part of the keys of folders: increment it when the stored form of an unchanged folder changes. */
const CONTENT_RULES = 1;

/**
 * Describes the stored part of a folder.
 *
 * @param isPart whether some files are omitted; changes to those files then have no effect.
 */
export function versionFolder(
  { path, id }: Pick<TreeEntry, 'path' | 'id'>,
  files: readonly TreeEntry[],
  manifest: string | null = null,
  isPart = false,
): VersionFolder {
  const hash = createHash('sha256').update(JSON.stringify([CONTENT_RULES, path, isPart ? null : id]));
  if (isPart) for (const file of files) hash.update(`${file.id} ${file.path}\0`);
  return { path, key: hash.update(manifest ?? '').digest('hex'), files, manifest };
}

/**
 * Returns the namespace for the entries of a repository.
 *
 * @throws FormatError if none can be derived from its address.
 */
export function namespaceFor(named: string | null, { repository }: Pick<GitTree, 'repository'>): string {
  const namespace = named ?? namespaceOf(repository);
  if (namespace !== undefined) return namespace;
  throw new FormatError(`no namespace can be derived from ${repository}: set one in git.namespace`);
}

/** The files and links in folders of a repository; folders may be nested. */
export class FolderFiles {
  private readonly folders: ReadonlyMap<string, { entry: TreeEntry | null; readonly files: TreeEntry[] }>;
  private readonly files = new Map<string, TreeEntry>();
  private count = 0;

  private constructor(
    paths: readonly string[],
    private readonly memory: MemoryCounter,
  ) {
    this.folders = new Map(paths.map((path) => [path, { entry: null, files: [] }]));
  }

  /** Lists the folders at these paths, in one pass through the folder that contains them all. */
  static async list(tree: GitTree, paths: readonly string[], memory: MemoryCounter): Promise<FolderFiles> {
    const found = new FolderFiles(paths, memory);
    const top = paths.length > 0 ? await tree.find(commonFolder(paths)) : null;
    if (top) found.setEntry(top);
    if (top?.kind === 'folder') await tree.list(top.path, (entry) => found.add(entry));
    return found;
  }

  /** Returns the node at the first existing path; null if there is none. */
  at(path: string): TreeEntry | null {
    return this.folders.get(path)?.entry ?? null;
  }

  /** Returns the file at this path in one of the folders. */
  file(path: string): TreeEntry | undefined {
    const found = this.files.get(path);
    return found?.kind === 'file' ? found : undefined;
  }

  in(path: string): readonly TreeEntry[] {
    return this.folders.get(path)?.files ?? [];
  }

  private setEntry(entry: TreeEntry): void {
    const folder = this.folders.get(entry.path);
    if (folder) folder.entry = entry;
  }

  private add(entry: TreeEntry): void {
    const { path, kind } = entry;
    this.setEntry(entry);
    if (kind === 'folder') return;
    this.addTo('', entry);
    for (const folder of foldersAbove(path)) this.addTo(folder, entry);
  }

  private addTo(path: string, file: TreeEntry): void {
    const folder = this.folders.get(path);
    if (!folder) return;
    this.count += 1;
    if (this.count > MAX_FILES)
      throw new FormatError(`The folders have more than ${MAX_FILES} files together, the maximum`);
    this.memory.add(BYTES_PER_FILE + file.path.length);
    folder.files.push(file);
    this.files.set(file.path, file);
  }
}

/** Yields the folders that contain a path, outermost first, without the root. */
export function* foldersAbove(path: string): Generator<string> {
  for (let end = path.indexOf('/'); end >= 0; end = path.indexOf('/', end + 1)) yield path.slice(0, end);
}

/** Returns the folder that contains all these paths; a single path is its own. */
function commonFolder(paths: readonly string[]): string {
  const [first = '', ...others] = paths;
  let common = first.split('/');
  for (const other of others) {
    const segments = other.split('/');
    const end = common.findIndex((segment, index) => segment !== segments[index]);
    common = end < 0 ? common : common.slice(0, end);
  }
  return common.join('/');
}

const NAMESPACE = /^[a-zA-Z0-9][a-zA-Z0-9._-]{2,127}$/;

/** Hosts that group repositories by owner. */
const HOSTS_WITH_OWNERS: ReadonlyMap<string, string> = new Map([
  ['github.com', 'io.github'],
  ['gitlab.com', 'io.gitlab'],
]);

/**
 * Returns the namespace for the entries of a repository (reference/sources): `io.github.acme` for `github.com/acme/x`,
 * or the reversed host, `com.acme.git`; undefined if no valid namespace can be derived from the address.
 */
export function namespaceOf(address: string): string | undefined {
  const place = placeOfRepository(address);
  if (!place) return undefined;
  const prefix = HOSTS_WITH_OWNERS.get(place.host);
  const [owner = '', ...rest] = place.path.split('/');
  const namespace =
    prefix !== undefined && rest.length > 0
      ? `${prefix}.${owner.toLowerCase()}`
      : place.host.split('.').reverse().join('.');
  return NAMESPACE.test(namespace) ? namespace : undefined;
}
