import { existsSync, mkdirSync } from 'node:fs';
import { dirname, resolve } from 'node:path';

/**
 * Creates a folder and its parents. Node's `recursive` option loops forever if creating a folder in an existing one fails
 * with ENOENT, as under /proc.
 */
export function makeFolder(path: string): void {
  const folder = resolve(path);
  if (existsSync(folder)) return;
  makeFolder(dirname(folder));
  try {
    mkdirSync(folder);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
  }
}
