import type { TreeEntry } from '../git/repository-tree.js';

/** The manifest that Claude Code reads, and that the other clients read too. */
export const MANIFEST = '.claude-plugin/plugin.json';

/** The folder with the content of a version, in the commit that was read. */
export interface VersionFolder {
  /** From the root of the repository. */
  readonly path: string;
  /** Digest of the path, the Git tree, and what is stored of it: while it stays, commit and content of the version stay. */
  readonly key: string;
  /** The files and links that are stored. */
  readonly files: readonly TreeEntry[];
  /** The manifest that is stored instead of the folder's; null if that stays. */
  readonly manifest: string | null;
}
