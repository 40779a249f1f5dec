import type { LookupAddress } from 'node:dns';
import { isIP } from 'node:net';
import { readEnvironment } from '../config/environment.js';
import { parseHttpUrl } from '../config/urls.js';
import { ApiError } from '../http/errors.js';
import {
  checkLiteralAddress,
  PrivateAddressError,
  publicLookup,
  type ResolveAll,
} from '../outbound/public-lookup.js';
import { checkAdminFile } from '../sources/admin-files.js';
import type { Origin } from '../sources/source.entity.js';
import { readCatalogueFile } from './catalogue-file.js';
import { FetchError } from './fetcher.js';
import type { GitConfiguration } from './git-workspace.js';

const MAX_SECRET_BYTES = 64 * 1024;

/** What stands below `git` in the settings (contract §2). */
export interface GitSettings {
  readonly repository: string;
  readonly branch?: string;
  readonly tag?: string;
  readonly commit?: string;
  readonly path?: string;
  readonly auth?: { readonly username: string; readonly passwordFile: string };
}

/** How a repository is reached. */
export interface GitWay {
  readonly url: string;
  readonly protocol: string;
  /** What git needs to know for it, password included. */
  readonly configuration: GitConfiguration;
  /** In every spelling in which they go out. */
  readonly secrets: readonly string[];
  /** Where git is found. */
  readonly path: string | undefined;
  /** Is the connection bound to addresses that were found to be public? Older versions of git would not obey. */
  readonly isPinned: boolean;
}

/** What this server allows the sources that were made through the API. */
export interface AdminRules {
  readonly adminFileRoot: string | null;
  readonly adminAllowPrivateIP: boolean;
}

/** Finds out how a source may reach its repository: with which password, and at which addresses. */
export class GitAccess {
  constructor(
    private readonly rules: AdminRules,
    private readonly resolve?: ResolveAll,
  ) {}

  /** @throws FetchError when it may not, or can not. */
  async to({ repository, auth }: GitSettings, origin: Origin): Promise<GitWay> {
    const url = parseHttpUrl(repository);
    if (!url || url.username !== '' || url.password !== '' || url.search !== '' || url.hash !== '')
      throw new FetchError('git.repository is no http:// or https:// URL of a repository');
    // curl looks a name up anew when the one that is pinned ends in a dot and the one it asks for does not.
    url.hostname = url.hostname.replace(/\.+$/, '');
    const mustBePublic = origin !== 'config' && !this.rules.adminAllowPrivateIP;
    const pinned = mustBePublic ? await this.pin(url) : [];
    const password = auth && (await this.passwordIn(auth.passwordFile, origin));
    const basic = password && Buffer.from(`${auth.username}:${password}`).toString('base64');
    return {
      url: url.href,
      protocol: url.protocol.slice(0, -1),
      configuration: [
        ...pinned,
        ...(basic
          ? [[`http "${url.origin}"`, { extraHeader: `Authorization: Basic ${basic}` }] as const]
          : []),
      ],
      secrets: password && basic ? [password, basic, encodeURIComponent(password)] : [],
      path: readEnvironment()['PATH'],
      isPinned: pinned.length > 0,
    };
  }

  // The addresses are looked up and judged here, and git connects to no other: a name that changes its mind in between
  // gains nothing.
  private async pin(url: URL): Promise<GitConfiguration> {
    try {
      checkLiteralAddress(url);
      if (isIP(url.hostname.replace(/^\[|\]$/g, '')) !== 0) return [];
      const addresses = await new Promise<LookupAddress[]>((done, failed) => {
        publicLookup(this.resolve)(url.hostname, { all: true }, (error, found) => {
          if (error) failed(error);
          else done(typeof found === 'string' ? [] : found);
        });
      });
      const port = url.port || (url.protocol === 'https:' ? '443' : '80');
      const list = addresses.map(({ address, family }) => (family === 6 ? `[${address}]` : address));
      return [['http', { curloptResolve: `${url.hostname}:${port}:${list.join()}` }]];
    } catch (error) {
      const reason =
        error instanceof PrivateAddressError ? error.message : 'its host name could not be resolved';
      throw new FetchError(`${url.href}: ${reason}`);
    }
  }

  // Read at each fetch, so that a password can be changed without a restart.
  private async passwordIn(file: string, origin: Origin): Promise<string> {
    const allowed = origin === 'config' ? file : await this.allowedFile(file);
    const { bytes } = await readCatalogueFile(allowed);
    const password = bytes.toString().replace(/\r?\n$/, '');
    if (password === '' || bytes.length > MAX_SECRET_BYTES || /\p{Cc}/u.test(password))
      throw new FetchError(`${file} holds no password: it must be one line of text`);
    return password;
  }

  private allowedFile(file: string): Promise<string> {
    return checkAdminFile(file, this.rules.adminFileRoot).catch((error: unknown) => {
      throw error instanceof ApiError ? new FetchError(`${file} may not be read: ${error.message}`) : error;
    });
  }
}
