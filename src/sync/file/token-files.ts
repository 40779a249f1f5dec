import { ApiError } from '../../http/errors.js';
import { checkAdminFile } from '../../sources/admin-files.js';
import type { Origin } from '../../sources/source.entity.js';
import { readLocalFile } from './read-file.js';
import { FetchError } from '../fetcher.js';

const MAX_TOKEN_LENGTH = 16 * 1024;

/** Reads the bearer tokens that sources name: at each run, because mounted tokens rotate. */
export class TokenFiles {
  /** @param adminFileRoot where sources made through the API may read files; null: nowhere. */
  constructor(private readonly adminFileRoot: string | null) {}

  /**
   * The token in a file, if one is named.
   *
   * @throws FetchError which names the file, and never what is in it.
   */
  async read(path: string | undefined, origin: Origin): Promise<string | undefined> {
    if (path === undefined) return undefined;
    const { bytes } = await readLocalFile(origin === 'config' ? path : await this.allowed(path));
    const token = bytes.length <= MAX_TOKEN_LENGTH ? bytes.toString('latin1').trim() : '';
    if (!/^[\x21-\x7e]+$/.test(token)) throw new FetchError(`the token file ${path} holds no bearer token`);
    return token;
  }

  // What the rules allow may have changed since the source was made, and so may what is behind the path.
  private async allowed(path: string): Promise<string> {
    return checkAdminFile(path, this.adminFileRoot).catch((error: unknown) => {
      throw error instanceof ApiError ? new FetchError(`${path} may not be read: ${error.message}`) : error;
    });
  }
}
