/** A file, a folder, or a symbolic link with its target. */
type Entry<File extends object> = File | Folder<File> | string;

/** A folder of an archive. Symbolic links are resolved as in a file system whose root is the archive. */
export class Folder<File extends object> {
  readonly entries = new Map<string, Entry<File>>();

  private constructor(readonly parent: Folder<File> | undefined) {}

  /** @param entries by path; no path leads through a file or a link. */
  static of<File extends object>(
    entries: Iterable<readonly [path: string, entry: File | string]>,
  ): Folder<File> {
    const root = new Folder<File>(undefined);
    for (const [path, entry] of entries) {
      const segments = path.split('/');
      const name = segments.pop() ?? '';
      segments.reduce((folder, segment) => folder.inner(segment), root).entries.set(name, entry);
    }
    return root;
  }

  private inner(name: string): Folder<File> {
    const known = this.entries.get(name);
    if (known instanceof Folder) return known;
    const folder = new Folder<File>(this);
    this.entries.set(name, folder);
    return folder;
  }
}

/**
 * Returns the target of a path in a folder, following at most `maxLinks` links; undefined if it is not in the archive.
 */
export function find<File extends object>(
  folder: Folder<File>,
  path: string,
  maxLinks: number,
): File | Folder<File> | undefined {
  const segments = path.split('/');
  let found: File | Folder<File> | undefined = folder;
  let links = 0;
  for (let segment = segments.shift(); segment !== undefined; segment = segments.shift()) {
    if (!(found instanceof Folder)) return undefined;
    if (segment === '' || segment === '.') continue;
    const next: Entry<File> | undefined = segment === '..' ? found.parent : found.entries.get(segment);
    if (typeof next !== 'string') found = next;
    else if (++links > maxLinks || next.startsWith('/')) return undefined;
    else segments.unshift(...next.split('/'));
  }
  return found;
}
