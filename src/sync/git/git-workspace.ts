import { mkdir, mkdtemp, readdir, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { FetchError } from '../fetcher.js';

const PREFIX = 'registry-git-';
/** No fetch lasts that long: an older directory was left by a server that was killed. */
const LEFT_OVER_MS = 60 * 60_000;

/** Sections of a Git configuration, in order. */
export type GitConfiguration = readonly (readonly [section: string, Readonly<Record<string, string>>])[];

/**
 * An empty bare repository in a temporary directory that only this user may enter. The settings of git and the password
 * stand in its configuration file: not on a command line, nor in an environment, and gone with the directory.
 */
export class GitWorkspace {
  private constructor(readonly directory: string) {}

  /** @throws FetchError when there is no place for it. */
  static async open(): Promise<GitWorkspace> {
    try {
      const workspace = new GitWorkspace(await mkdtemp(join(tmpdir(), PREFIX)));
      await workspace.layOut();
      return workspace;
    } catch (error) {
      const { code, message } = error as NodeJS.ErrnoException;
      throw new FetchError(`No temporary directory could be made in ${tmpdir()}: ${code ?? message}`);
    }
  }

  async configure(configuration: GitConfiguration): Promise<void> {
    const lines = configuration.flatMap(([section, values]) => [
      `[${section}]`,
      ...Object.entries(values).map(([key, value]) => `\t${key} = ${quoted(value)}`),
    ]);
    await this.write('config', `${lines.join('\n')}\n`);
  }

  async write(name: string, content: string): Promise<void> {
    await writeFile(join(this.directory, name), content, { mode: 0o600 });
  }

  /** What the directory takes on the disk now. */
  async bytes(): Promise<number> {
    const found = await readdir(this.directory, { recursive: true, withFileTypes: true }).catch(() => []);
    const sizes = found
      .filter((entry) => entry.isFile())
      .map((entry) => stat(join(entry.parentPath, entry.name)).then(({ size }) => size));
    const settled = await Promise.allSettled(sizes);
    return settled.reduce((sum, size) => sum + (size.status === 'fulfilled' ? size.value : 0), 0);
  }

  async remove(): Promise<void> {
    await rm(this.directory, { recursive: true, force: true, maxRetries: 3 });
  }

  // As `git init --bare` would make it, without its templates (gitrepository-layout(5)).
  private async layOut(): Promise<void> {
    for (const folder of ['objects', 'refs']) await mkdir(join(this.directory, folder));
    await this.write('HEAD', 'ref: refs/heads/none\n');
  }
}

/** Removes what servers that were killed have left in the temporary directory. */
export async function removeLeftOvers(): Promise<void> {
  const names = await readdir(tmpdir()).catch(() => []);
  for (const name of names.filter((each) => each.startsWith(PREFIX))) {
    const directory = join(tmpdir(), name);
    const found = await stat(directory).catch(() => undefined);
    if (found && Date.now() - found.mtimeMs > LEFT_OVER_MS)
      await rm(directory, { recursive: true, force: true }).catch(() => undefined);
  }
}

function quoted(value: string): string {
  return `"${value.replaceAll(/["\\]/g, '\\$&')}"`;
}
