import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import type { Folder } from './folder.js';

/** Runs the installed git as a user would, with an empty home directory; resolves to its output. */
export class GitClient {
  private clones = 0;

  constructor(private readonly folder: Folder) {}

  /** Clones into a new directory and returns it. */
  async clone(url: string, ...options: string[]): Promise<string> {
    this.clones += 1;
    const directory = this.folder.file(`clone-${this.clones}`);
    await this.run(this.folder.path, ...options, 'clone', '--quiet', url, directory);
    return directory;
  }

  async run(directory: string, ...args: string[]): Promise<string> {
    const env = {
      PATH: process.env['PATH'],
      HOME: this.folder.path,
      LC_ALL: 'C',
      GIT_TERMINAL_PROMPT: '0',
      GIT_CONFIG_NOSYSTEM: '1',
    };
    const { stdout } = await promisify(execFile)('git', args, { cwd: directory, env });
    return stdout.trim();
  }
}
