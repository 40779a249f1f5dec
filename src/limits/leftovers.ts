import { createHash } from 'node:crypto';
import { mkdtemp, readdir, rm, stat } from 'node:fs/promises';
import { hostname, tmpdir } from 'node:os';
import { join } from 'node:path';

/** Part of the names of this process's temporary directories: where it runs and when it started. */
const PLACE = createHash('sha256').update(`${hostname()} ${process.pid}`).digest('hex').slice(0, 12);
const RUN = Math.round(performance.timeOrigin).toString(36);

/** Creates a temporary directory that only this user can access. A crash leaves it to `removeLeftovers`. */
export function createTemporary(prefix: string): Promise<string> {
  return mkdtemp(join(tmpdir(), `${prefix}${PLACE}-${RUN}-`));
}

/**
 * Removes temporary directories of killed servers. Directories in use must change more often than every
 * `unchangedMs`: containers may share the temporary directory, so a process id does not show whether its process still runs.
 * But two processes with the same id on the same host are a container and its predecessor, which crashed.
 */
export async function removeLeftovers(prefix: string, unchangedMs: number): Promise<void> {
  const names = await readdir(tmpdir()).catch(() => []);
  for (const name of names.filter((each) => each.startsWith(prefix))) {
    const directory = join(tmpdir(), name);
    const found = await stat(directory).catch(() => undefined);
    const isPredecessors =
      name.startsWith(`${prefix}${PLACE}-`) && !name.startsWith(`${prefix}${PLACE}-${RUN}-`);
    if (found && (isPredecessors || Date.now() - found.mtimeMs > unchangedMs))
      await rm(directory, { recursive: true, force: true }).catch(() => undefined);
  }
}
