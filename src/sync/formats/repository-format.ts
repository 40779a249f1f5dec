import { posix } from 'node:path';
import type { GitTree, TreeEntry } from '../../git/git-tree.js';
import type { SourceFormat } from '../../source-kinds/source-formats.js';
import { SKILL_FILE } from '../../content/skill-file.js';
import { type FolderFormat, FormatError } from './source-content.js';
import { MARKETPLACE_FILES } from './plugin-sources.js';
import { CLIENT_CONFIGURATION, DOCKER_CATALOG } from './found-format.js';
import { isServerFile, SERVER_FILE } from './servers-folder.js';

const REGISTRY_FILE = 'registry.json';

/** Names of files that list servers in unsupported formats. */
const LOOKALIKES = new Map([
  ['.mcp.json', CLIENT_CONFIGURATION],
  ['mcp.json', CLIENT_CONFIGURATION],
  ['server.yaml', DOCKER_CATALOG],
]);

/** The file or folder of a repository that a source reads. */
type Found =
  /** A single file. The format is null if its content decides. */
  | { readonly reads: 'file'; readonly at: TreeEntry; readonly format: SourceFormat | null }
  /** A folder, or a file that describes one. */
  | { readonly reads: 'folder'; readonly at: TreeEntry; readonly format: FolderFormat };

/**
 * Finds what a source reads: the configured file or folder, or else the first known one in the repository
 * (reference/sources).
 *
 * @param named the `format` setting.
 * @throws FormatError if there is nothing to read.
 * @throws FetchError
 */
export async function findInRepository(
  tree: GitTree,
  path: string | undefined,
  named: SourceFormat | null,
): Promise<Found> {
  const at = await entryAt(tree, posix.normalize(path ?? '.').replace(/^\.$|\/$/g, ''));
  if (at.kind === 'file' && named === 'skills')
    throw refusal(tree, `${at.path} is a file`, 'skills are folders: specify a folder');
  if (at.kind === 'file')
    return named === 'marketplace'
      ? { reads: 'folder', at, format: named }
      : { reads: 'file', at, format: named };
  switch (named) {
    case 'registry':
      return { reads: 'file', at: await fileIn(tree, at, [REGISTRY_FILE]), format: named };
    case 'marketplace':
      return { reads: 'folder', at: await fileIn(tree, at, MARKETPLACE_FILES), format: named };
    case 'servers':
    case 'skills':
      return { reads: 'folder', at, format: named };
    case null:
      return find(tree, at);
  }
}

async function entryAt(tree: GitTree, path: string): Promise<TreeEntry> {
  const entry = await tree.find(path);
  if (!entry) throw refusal(tree, `there is no file ${path}`);
  if (entry.kind === 'link') throw refusal(tree, `${path} is a symbolic link`, 'specify the file itself');
  if (entry.kind === 'submodule')
    throw refusal(tree, `${path} is a submodule`, 'submodules are not supported');
  return entry;
}

async function fileIn(tree: GitTree, folder: TreeEntry, names: readonly string[]): Promise<TreeEntry> {
  const found = await firstFile(tree, folder, names);
  if (found) return found;
  throw lacks(tree, folder, names);
}

async function firstFile(
  tree: GitTree,
  folder: TreeEntry,
  names: readonly string[],
): Promise<TreeEntry | null> {
  for (const name of names) {
    const entry = await tree.find(posix.join(folder.path, name));
    if (entry?.kind === 'file') return entry;
  }
  return null;
}

async function find(tree: GitTree, folder: TreeEntry): Promise<Found> {
  const registry = await firstFile(tree, folder, [REGISTRY_FILE]);
  if (registry) return { reads: 'file', at: registry, format: 'registry' };
  const marketplace = await firstFile(tree, folder, MARKETPLACE_FILES);
  if (marketplace) return { reads: 'folder', at: marketplace, format: 'marketplace' };
  let [hasServer, hasSkill, isEmpty] = [false, false, true];
  let lookalike: string | undefined;
  await tree.list(folder.path, ({ path, kind }) => {
    isEmpty = false;
    if (kind !== 'file') return;
    hasServer ||= isServerFile(path);
    hasSkill ||= posix.basename(path) === SKILL_FILE;
    const other = LOOKALIKES.get(posix.basename(path));
    if (other !== undefined) lookalike ??= `${path} is ${other}`;
  });
  if (hasServer) return { reads: 'folder', at: folder, format: 'servers' };
  if (hasSkill) return { reads: 'folder', at: folder, format: 'skills' };
  if (isEmpty) throw refusal(tree, 'there are no files');
  throw lacks(
    tree,
    folder,
    [REGISTRY_FILE, ...MARKETPLACE_FILES.slice(0, 1), SERVER_FILE, SKILL_FILE],
    lookalike,
  );
}

function lacks(
  tree: GitTree,
  { path }: TreeEntry,
  files: readonly string[],
  lookalike?: string,
): FormatError {
  const names = files.join(', ');
  return path === ''
    ? refusal(tree, `there is no file ${names}`, lookalike ?? 'set path to the file or folder to read')
    : refusal(tree, `${path} is a directory`, lookalike ?? `it has no ${names}`);
}

function refusal({ repository, commit }: GitTree, reason: string, advice?: string): FormatError {
  const sentence = `${repository}: ${reason} in commit ${commit.slice(0, 12)}`;
  return new FormatError(advice === undefined ? sentence : `${sentence}; ${advice}`);
}
