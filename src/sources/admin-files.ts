import { lstat, realpath, stat } from 'node:fs/promises';
import { dirname, relative, resolve, sep } from 'node:path';
import { ApiError } from '../http/errors.js';

/** contract §7: the most a source made through the API may read. */
export const MAX_ADMIN_FILE_BYTES = 64 * 1024 * 1024;

/**
 * Refuses files of the server that a source made through the API may not read: everything outside `root` (contract §7),
 * also by way of symbolic links, and what is no regular file of at most 64 MiB. A file that does not exist yet is allowed.
 *
 * The refusal of a path outside does not depend on whether it exists.
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
  const target = await resolveLinks(resolve(root, path));
  if (!isBelow(await realpath(root).catch(() => root), target.real)) throw new ApiError('path_not_allowed');
  if (!target.exists) return target.real;
  const file = await stat(target.real).catch(() => undefined);
  if (file && !file.isFile())
    throw new ApiError('path_not_allowed', 'The path below adminFileRoot is not a regular file');
  if (file && file.size > MAX_ADMIN_FILE_BYTES)
    throw new ApiError('path_not_allowed', 'The file is larger than 64 MiB, the most that is read');
  return target.real;
}

/** Whether the path is inside the directory. Both absolute; links are not followed. */
export function isBelow(directory: string, path: string): boolean {
  const inside = relative(directory, path);
  return (
    inside !== '' && inside !== '..' && !inside.startsWith(`..${sep}`) && resolve(directory, inside) === path
  );
}

async function isLink(path: string): Promise<boolean> {
  return lstat(path).then(
    (file) => file.isSymbolicLink(),
    () => false,
  );
}

// The path with the links in it resolved, as far as it exists.
async function resolveLinks(path: string): Promise<{ real: string; exists: boolean }> {
  for (let part = path; ; part = dirname(part)) {
    const real = await realpath(part).catch(() => undefined);
    // A dangling link may lead anywhere later.
    if (real === undefined && (await isLink(part))) throw new ApiError('path_not_allowed');
    if (real !== undefined) return { real: resolve(real, relative(part, path)), exists: part === path };
    if (part === dirname(part)) return { real: path, exists: false };
  }
}
