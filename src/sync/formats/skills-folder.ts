import { posix } from 'node:path';
import { skillFrontmatter, SKILL_FILE } from '../../content/skill-file.js';
import { documentNameOf, nameProblem } from '../../documents/derived-text.js';
import type { TreeEntry } from '../../git/git-tree.js';
import { member } from '../../json/json-values.js';
import { pauseIfDue } from '../../limits/time-slice.js';
import { frontmatterOf } from '../../members/frontmatter.js';
import { webAddressOf } from '../../source-kinds/git-repository.js';
import { EntryValidator } from '../entry-validator.js';
import { derivedDocument, derivedVersion } from './derived-document.js';
import { DerivedEntries, MAX_DERIVED, NAME_TAKEN } from './derived-entries.js';
import { BYTES_PER_FILE, FolderFiles, foldersAbove, namespaceFor, versionFolder } from './folder-files.js';
import { type FolderRead, type FolderReader, FormatError } from './source-content.js';

const MAX_SKILL_FILE_BYTES = 1024 * 1024;
const TOO_LARGE = { frontmatter: undefined, problem: `${SKILL_FILE}: is larger than 1 MiB` };

/** Reads every folder with a SKILL.md as a skill (reference/sources). */
export const readSkillsFolder: FolderReader = async (read) => {
  const { tree, at, filter, memory, commits } = read;
  const namespace = namespaceFor(read.namespace, tree);
  const skillFiles = await skillFilesIn(read);
  const folders = await FolderFiles.list(tree, [...skillFiles.keys()], memory);
  const validator = new EntryValidator(filter, { memory, onDuplicate: { skipBecause: NAME_TAKEN } });
  const entries = new DerivedEntries('skill', validator, filter);
  let index = 0;
  await tree.read([...skillFiles.values()], MAX_SKILL_FILE_BYTES, async ({ path: file }, bytes) => {
    await pauseIfDue();
    const path = posix.dirname(file).replace(/^\.$/, '');
    const place = { index: index++, path: path === '' ? SKILL_FILE : path };
    const { frontmatter, problem } = bytes === null ? TOO_LARGE : readFrontmatter(bytes.toString());
    const found = folders.at(path);
    if (frontmatter === undefined || !found) return entries.skip(place, {}, problem ?? 'is not a folder');
    const metadata = member(frontmatter, 'metadata');
    const given = member(frontmatter, 'name');
    const version = derivedVersion([metadata], found.id) ?? '';
    const name = typeof given === 'string' ? documentNameOf(given) : undefined;
    if (name === undefined)
      return entries.skip(place, { name: given, version }, nameProblem(`${SKILL_FILE}: name`, given));
    const folder = versionFolder(found, folders.in(path));
    const document = derivedDocument({
      ...{ namespace, name, version, statedBy: [frontmatter, metadata] },
      package: {
        url: webAddressOf(tree.repository) ?? tree.repository,
        commit: commits.get(folder.key) ?? tree.commit,
        folder: path,
      },
    });
    entries.add(place, document, folder);
  });
  const none = validator.noneIsValid();
  if (none !== null) throw new FormatError(none);
  if (skillFiles.size === 0)
    throw new FormatError(`There is no ${SKILL_FILE} below ${at.path || 'the root'}`);
  return { ...validator.result(), folders: entries.folders };
};

/** Reads a frontmatter. Clients accept frontmatter that is not valid YAML, such as a description with a colon. */
function readFrontmatter(text: string): ReturnType<typeof skillFrontmatter> {
  const read = skillFrontmatter(text);
  if (read.frontmatter) return read;
  const { name, description } = frontmatterOf(text, false);
  return name === undefined || description === undefined ? read : { frontmatter: { name, description } };
}

/** Returns the SKILL.md of each skill by folder, in path order. Everything inside a skill belongs to it. */
async function skillFilesIn({ tree, at, memory }: FolderRead): Promise<Map<string, TreeEntry>> {
  const files: TreeEntry[] = [];
  await tree.list(at.path, (entry) => {
    if (entry.kind !== 'file' || posix.basename(entry.path) !== SKILL_FILE) return;
    memory.add(BYTES_PER_FILE + entry.path.length);
    files.push(entry);
  });
  const folderOf = ({ path }: TreeEntry) => posix.dirname(path).replace(/^\.$/, '');
  const below = files.filter((file) => folderOf(file) !== at.path);
  const sorted = (below.length > 0 ? below : files)
    .map((file) => [folderOf(file), file] as const)
    .sort(([one], [other]) => (one < other ? -1 : 1));
  const skills = new Map<string, TreeEntry>();
  for (const [folder, file] of sorted) if (!isInside(folder, skills)) skills.set(folder, file);
  if (skills.size > MAX_DERIVED)
    throw new FormatError(`There are more than ${MAX_DERIVED} skills: set git.path to a folder with fewer`);
  return skills;
}

function isInside(path: string, folders: ReadonlyMap<string, unknown>): boolean {
  return [...foldersAbove(path)].some((folder) => folders.has(folder));
}
