import { readdir, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/**
 * Removes temporary directories of killed servers. Directories in use must change more often than every
 * `unchangedMs`. Process ids would not help, because containers may share the temporary directory.
 */
export async function removeLeftovers(prefix: string, unchangedMs: number): Promise<void> {
  const names = await readdir(tmpdir()).catch(() => []);
  for (const name of names.filter((each) => each.startsWith(prefix))) {
    const directory = join(tmpdir(), name);
    const found = await stat(directory).catch(() => undefined);
    if (found && Date.now() - found.mtimeMs > unchangedMs)
      await rm(directory, { recursive: true, force: true }).catch(() => undefined);
  }
}
