import type { TreeEntry } from '../git/git-tree.js';

/** The manifest for Claude Code, which other clients also read. */
export const MANIFEST = '.claude-plugin/plugin.json';

/** The folder with the content of a version, in the commit that was read. */
export interface VersionFolder {
  /** Path from the root of the repository. */
  readonly path: string;
  /**
   * Digest of the path, the Git tree, and the parts that are stored: while it stays the same, so do the commit and
   * content of the version.
   */
  readonly key: string;
  /** The files and links that are stored. */
  readonly files: readonly TreeEntry[];
  /** The manifest that replaces the folder's; null if the folder's is kept. */
  readonly manifest: string | null;
}
