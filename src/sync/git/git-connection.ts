import type { LookupAddress } from 'node:dns';
import { readFile } from 'node:fs/promises';
import { rootCertificates } from 'node:tls';
import type { ConfigType } from '@nestjs/config';
import { readEnvironment } from '../../config/environment.js';
import type { adminSourcesConfig } from '../../config/slices.js';
import {
  type HttpRepository,
  parseGitRepository,
  type SshRepository,
} from '../../source-kinds/git-repository.js';
import type { SettingsOf } from '../../source-kinds/kinds.js';
import { ApiError } from '../../http/errors.js';
import { PrivateAddressError, publicAddresses, type ResolveAll } from '../../outbound/public-lookup.js';
import { checkAdminFile } from '../../sources/admin-files.js';
import type { Origin } from '../../sources/source.entity.js';
import { readLocalFile } from '../file/read-file.js';
import { FetchError } from '../fetcher.js';
import { KEY, KNOWN_HOSTS, SSH_CONFIG, sshConfig } from './git-ssh.js';
import type { GitConfiguration } from './git-workspace.js';

const MAX_SECRET_BYTES = 1024 * 1024;
const AUTHORITIES = 'authorities.pem';

/** How a repository is reached. */
export interface GitConnection {
  readonly url: string;
  readonly protocol: string;
  /** Settings of git for it, password included. */
  readonly configuration: GitConfiguration;
  /** Files that the configuration refers to, by name. */
  readonly files: Readonly<Record<string, string>>;
  /** In every spelling in which they go out. */
  readonly secrets: readonly string[];
  /** Where git is found. */
  readonly path: string | undefined;
  /** Are the addresses that git connects to part of the configuration? Older versions of git ignore that. */
  readonly isPinned: boolean;
}

/** Finds out how a source may reach its repository: with which password or key, and at which addresses. */
export class GitConnections {
  constructor(
    private readonly limits: ConfigType<typeof adminSourcesConfig>,
    private readonly resolve?: ResolveAll,
  ) {}

  /** @throws FetchError when the source may not reach it, or the settings are not enough. */
  async connectionTo(settings: SettingsOf<'git'>, origin: Origin): Promise<GitConnection> {
    const repository = parseGitRepository(settings.repository);
    if (!repository) throw new FetchError('git.repository is no http, https or ssh address of a repository');
    const mustBePublic = origin !== 'config' && !this.limits.adminAllowPrivateIP;
    const common = { protocol: repository.protocol, path: readEnvironment()['PATH'] };
    return repository.protocol === 'ssh'
      ? { ...common, ...(await this.bySsh(repository, settings, origin, mustBePublic)) }
      : { ...common, ...(await this.byHttp(repository, settings, origin, mustBePublic)) };
  }

  private async byHttp(
    { url }: HttpRepository,
    { auth }: SettingsOf<'git'>,
    origin: Origin,
    mustBePublic: boolean,
  ): Promise<Omit<GitConnection, 'protocol' | 'path'>> {
    // curl looks a name up anew when the one that is pinned ends in a dot and the one it asks for does not.
    if (mustBePublic) url.hostname = url.hostname.replace(/\.+$/, '');
    const pinned = mustBePublic ? await this.addressesOf(url.hostname, url.href) : [];
    const port = url.port || (url.protocol === 'https:' ? '443' : '80');
    const list = pinned.map(({ address, family }) => (family === 6 ? `[${address}]` : address));
    const authorities = url.protocol === 'https:' ? await furtherAuthorities() : undefined;
    const password = auth?.passwordFile === undefined ? '' : await this.password(auth.passwordFile, origin);
    const basic = Buffer.from(`${auth?.username}:${password}`).toString('base64');
    return {
      url: url.href,
      configuration: [
        ['http', list.length > 0 ? { curloptResolve: `${url.hostname}:${port}:${list.join()}` } : {}],
        ['http', authorities === undefined ? {} : { sslCAInfo: AUTHORITIES }],
        [`http "${url.origin}"`, password === '' ? {} : { extraHeader: `Authorization: Basic ${basic}` }],
      ],
      files: authorities === undefined ? {} : { [AUTHORITIES]: authorities },
      secrets: password === '' ? [] : [password, basic, encodeURIComponent(password)],
      isPinned: list.length > 0,
    };
  }

  private async bySsh(
    repository: SshRepository,
    { auth }: SettingsOf<'git'>,
    origin: Origin,
    mustBePublic: boolean,
  ): Promise<Omit<GitConnection, 'protocol' | 'path'>> {
    if (auth?.privateKeyFile === undefined || auth.knownHostsFile === undefined)
      throw new FetchError('git.auth has no privateKeyFile and knownHostsFile, which ssh needs');
    const [pinned] = mustBePublic ? await this.addressesOf(repository.host, repository.url) : [];
    const key = await this.secret(auth.privateKeyFile, origin);
    return {
      url: repository.url,
      configuration: [],
      files: {
        [SSH_CONFIG]: sshConfig(repository, pinned?.address),
        [KEY]: `${key}\n`,
        [KNOWN_HOSTS]: `${await this.secret(auth.knownHostsFile, origin)}\n`,
      },
      secrets: [key],
      isPinned: false,
    };
  }

  // The addresses are resolved and judged here, and the connection goes to no other: a name that has other addresses
  // afterwards gains nothing.
  private async addressesOf(host: string, url: string): Promise<LookupAddress[]> {
    return publicAddresses(host, this.resolve).catch((error: unknown) => {
      const isPrivate = error instanceof PrivateAddressError;
      throw new FetchError(`${url}: ${isPrivate ? error.message : 'its host name could not be resolved'}`);
    });
  }

  private async password(file: string, origin: Origin): Promise<string> {
    const password = await this.secret(file, origin);
    if (/\p{Cc}/u.test(password))
      throw new FetchError(`${file} holds no password: it must be one line of text`);
    return password;
  }

  // Read at each fetch, so that it can be changed without a restart.
  private async secret(file: string, origin: Origin): Promise<string> {
    const allowed = origin === 'config' ? file : await this.allowedFile(file);
    const { bytes } = await readLocalFile(allowed);
    if (bytes.length > MAX_SECRET_BYTES) throw new FetchError(`${file} is larger than 1 MiB`);
    const content = bytes.toString().replace(/\r?\n$/, '');
    if (content === '') throw new FetchError(`${file} is empty`);
    return content;
  }

  private allowedFile(file: string): Promise<string> {
    return checkAdminFile(file, this.limits.adminFileRoot).catch((error: unknown) => {
      throw error instanceof ApiError ? new FetchError(`${file} may not be read: ${error.message}`) : error;
    });
  }
}

// Git trusts the authorities that Node trusts; without the variable those that the machine trusts.
async function furtherAuthorities(): Promise<string | undefined> {
  const file = readEnvironment()['NODE_EXTRA_CA_CERTS'];
  const more = file ? await readFile(file, 'utf8').catch(() => undefined) : undefined;
  return more === undefined ? undefined : [...rootCertificates, more, ''].join('\n');
}
