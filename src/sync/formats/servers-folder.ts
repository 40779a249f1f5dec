import { posix } from 'node:path';
import { MAX_DOCUMENT_BYTES } from '../../documents/document-problem.js';
import type { TreeEntry } from '../../git/git-tree.js';
import { JsonSliceError, JsonSlicer } from '../../json/json-slices.js';
import { isObject } from '../../json/json-values.js';
import { pauseIfDue } from '../../limits/time-slice.js';
import { EntryValidator, type UncheckedDocument } from '../entry-validator.js';
import { type FolderReader, FormatError } from './source-content.js';
import { serverIn } from './servers-file.js';
import { jsonText } from './sliced-file.js';

const MAX_SERVER_FILES = 10_000;
/** Includes white space. */
const MAX_FILE_BYTES = 4 * MAX_DOCUMENT_BYTES;
const MAX_BYTES = 128 * MAX_DOCUMENT_BYTES;
export const SERVER_FILE = 'server.json';
const SERVER_NAME = /^[a-zA-Z0-9.-]+\/[a-zA-Z0-9._-]+$/;

/**
 * Reads every `server.json` at any depth, and every other `*.json` directly in the folder that is a server document.
 */
export const readServersFolder: FolderReader = async ({ tree, at, filter, memory }) => {
  const files: TreeEntry[] = [];
  await tree.list(at.path, (entry) => {
    if (entry.kind !== 'file' || !mayBeServer(entry.path, at.path)) return;
    if (files.push(entry) > MAX_SERVER_FILES)
      throw new FormatError(
        `The folder has more than ${MAX_SERVER_FILES} server files: choose a smaller one`,
      );
  });
  const validator = new EntryValidator(filter, {
    memory,
    onDuplicate: { skipBecause: 'an earlier file has this name and version' },
  });
  let [index, read] = [0, 0];
  await tree.read(files, MAX_FILE_BYTES, async (file, bytes) => {
    await pauseIfDue();
    read += bytes?.length ?? 0;
    if (read > MAX_BYTES) throw new FormatError(`The server files have more than ${MAX_BYTES / 2 ** 20} MiB`);
    const candidate = candidateOf(file.path, bytes, index);
    if (!isServerFile(file.path) && !isServerDocument(candidate.document)) return;
    validator.add(candidate);
    index += 1;
  });
  if (index === 0)
    throw new FormatError('The folder has no server documents: no server.json, and no *.json that is one');
  const none = validator.noneIsValid();
  if (none !== null) throw new FormatError(none);
  return validator.result();
};

/** Whether the file has the name that the MCP registry's documentation recommends. */
export function isServerFile(path: string): boolean {
  return posix.basename(path) === SERVER_FILE;
}

function mayBeServer(path: string, folder: string): boolean {
  const isDirect = posix.join(folder, posix.basename(path)) === path;
  return isServerFile(path) || (isDirect && path.endsWith('.json'));
}

function candidateOf(path: string, bytes: Buffer | null, index: number): UncheckedDocument {
  const unread = (message: string): UncheckedDocument => ({
    ...{ type: 'server', index, path, document: null, written: { text: '', keys: 0 } },
    readProblem: { path: '', message },
  });
  if (bytes === null) return unread(`is larger than ${MAX_FILE_BYTES / 2 ** 20} MiB`);
  try {
    return { ...serverIn(JsonSlicer.whole(jsonText(bytes), MAX_DOCUMENT_BYTES)), index, path };
  } catch (error) {
    if (error instanceof FormatError) return unread('is not UTF-8 text');
    if (error instanceof JsonSliceError) return unread('is not valid JSON');
    throw error;
  }
}

/**
 * Returns whether JSON in a file of any name is intended as a server document: many other files have a name and a
 * version.
 */
function isServerDocument(document: unknown): boolean {
  if (!isObject(document) || typeof document['name'] !== 'string') return false;
  const { $schema, name, description, version } = document;
  if (typeof $schema === 'string') return $schema.endsWith('/server.schema.json');
  const isDescribed = typeof description === 'string' && typeof version === 'string';
  const isInstalled = ['packages', 'remotes'].some((key) => Array.isArray(document[key]));
  return SERVER_NAME.test(name) && (isDescribed || isInstalled);
}
