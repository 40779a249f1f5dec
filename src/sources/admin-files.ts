import { lstat, realpath, stat } from 'node:fs/promises';
import { dirname, relative, resolve, sep } from 'node:path';
import { ApiError } from '../http/errors.js';

/** contract §7: the most a source made through the API may read. */
export const MAX_ADMIN_FILE_BYTES = 64 * 1024 * 1024;

/**
 * Refuses files of the server that a source made through the API may not read: everything outside `root` (contract §7),
 * also by way of symbolic links, and what is no regular file of at most 64 MiB. One that is not there yet may come.
 *
 * What is said about a path outside does not depend on what is there.
 *
 * @param root absolute; null where the configuration allows none.
 * @returns the path without symbolic links: to be opened in place of the other, which may change.
 * @throws ApiError 400 `path_not_allowed`.
 */
export async function checkAdminFile(path: string, root: string | null): Promise<string> {
  if (root === null)
    throw new ApiError(
      'path_not_allowed',
      'Sources made through the API may not read files here: the configuration names no adminFileRoot',
    );
  if (path.includes('\0') || !isBelow(resolve(root), resolve(root, path)))
    throw new ApiError('path_not_allowed');
  const target = await existing(resolve(root, path));
  if (!isBelow(await realpath(root).catch(() => root), target.real)) throw new ApiError('path_not_allowed');
  if (!target.whole) return target.real;
  const found = await stat(target.real).catch(() => undefined);
  if (found && !found.isFile())
    throw new ApiError('path_not_allowed', 'The path below adminFileRoot is not a regular file');
  if (found && found.size > MAX_ADMIN_FILE_BYTES)
    throw new ApiError('path_not_allowed', 'The file is larger than 64 MiB, the most that is read');
  return target.real;
}

/** Is this path inside the directory? Both absolute; links are not followed. */
export function isBelow(directory: string, path: string): boolean {
  const way = relative(directory, path);
  return way !== '' && way !== '..' && !way.startsWith(`..${sep}`) && resolve(directory, way) === path;
}

async function isLink(path: string): Promise<boolean> {
  return lstat(path).then(
    (found) => found.isSymbolicLink(),
    () => false,
  );
}

// The real path of a file, or of the deepest directory on the way to it that exists.
async function existing(path: string): Promise<{ real: string; whole: boolean }> {
  for (let part = path; ; part = dirname(part)) {
    const real = await realpath(part).catch(() => undefined);
    // A link that leads nowhere may lead somewhere later.
    if (real === undefined && (await isLink(part))) throw new ApiError('path_not_allowed');
    if (real !== undefined) return { real: resolve(real, relative(part, path)), whole: part === path };
    if (part === dirname(part)) return { real: path, whole: false };
  }
}
