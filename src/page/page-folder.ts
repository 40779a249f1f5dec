import { resolve } from 'node:path';
import { readPageFiles } from './page-files.js';

export const PAGE_FILES = Symbol('the files of the page');
export type PageFiles = ReturnType<typeof readPageFiles>;

/** Beside the built server. */
const FOLDER = resolve(import.meta.dirname, '../web');

export function builtPage(): PageFiles {
  return readPageFiles(FOLDER);
}
