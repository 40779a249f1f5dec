import type { LookupAddress } from 'node:dns';
import { readFile } from 'node:fs/promises';
import { rootCertificates } from 'node:tls';
import type { ConfigType } from '@nestjs/config';
import type { ProxyConfig, ProxyServer } from '../../config/config.js';
import { readEnvironment } from '../../config/environment.js';
import type { adminSourcesConfig } from '../../config/slices.js';
import { DIRECT, proxyFor } from '../../outbound/dispatcher.js';
import {
  checkLiteralAddress,
  PrivateAddressError,
  publicAddresses,
  type ResolveAll,
} from '../../outbound/private-address.js';
import {
  type HttpRepository,
  parseGitRepository,
  type SshRepository,
} from '../../source-kinds/git-repository.js';
import type { LeasedSource } from '../../sources/source-leases.queries.js';
import { FetchError } from '../fetcher.js';
import type { SourceFiles } from '../file/source-files.js';
import { KEY, KNOWN_HOSTS, SSH_CONFIG, sshConfig } from './git-ssh.js';
import type { GitConfiguration } from './git-workspace.js';

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
  /** The same of the proxy's. */
  readonly proxySecrets: readonly string[];
  /** Where git is found. */
  readonly path: string | undefined;
  /** Are the addresses that git connects to part of the configuration? Older versions of git ignore that. */
  readonly isPinned: boolean;
}

type GitSource = Pick<LeasedSource<'git'>, 'kind' | 'settings' | 'claims' | 'origin'>;

/** Finds out how a source may reach its repository: with which password or key, and at which addresses. */
export class GitConnections {
  constructor(
    private readonly limits: Pick<ConfigType<typeof adminSourcesConfig>, 'adminAllowPrivateIP'>,
    private readonly files: Pick<SourceFiles, 'secret'>,
    private readonly resolve?: ResolveAll,
    private readonly proxies: ProxyConfig = DIRECT,
  ) {}

  /** @throws FetchError when the source may not reach it, or the settings are not enough. */
  async connectionTo(source: GitSource): Promise<GitConnection> {
    const repository = parseGitRepository(source.settings.repository);
    if (!repository) throw new FetchError('git.repository is no http, https or ssh address of a repository');
    const mustBePublic = source.origin !== 'config' && !this.limits.adminAllowPrivateIP;
    const common = { protocol: repository.protocol, path: readEnvironment()['PATH'] };
    return repository.protocol === 'ssh'
      ? { ...common, ...(await this.bySsh(repository, source, mustBePublic)) }
      : { ...common, ...(await this.byHttp(repository, source, mustBePublic)) };
  }

  private async byHttp(
    { url }: HttpRepository,
    source: GitSource,
    mustBePublic: boolean,
  ): Promise<Omit<GitConnection, 'protocol' | 'path'>> {
    const { auth } = source.settings;
    // curl looks a name up anew when the one that is pinned ends in a dot and the one it asks for does not.
    if (mustBePublic) url.hostname = url.hostname.replace(/\.+$/, '');
    const proxy = proxyFor(url, this.proxies);
    if (mustBePublic && proxy) refuseLiteral(url);
    // A proxy resolves the name itself.
    const pinned = mustBePublic && !proxy ? await this.addressesOf(url.hostname, url.href) : [];
    const port = url.port || (url.protocol === 'https:' ? '443' : '80');
    const list = pinned.map(({ address, family }) => (family === 6 ? `[${address}]` : address));
    const isEncrypted = [url.origin, proxy?.origin].some((origin) => origin?.startsWith('https:'));
    const authorities = isEncrypted ? await furtherAuthorities() : undefined;
    const proxied = proxy && proxySettings(proxy);
    const password = auth?.passwordFile === undefined ? '' : await this.password(auth.passwordFile, source);
    const basic = Buffer.from(`${auth?.username}:${password}`).toString('base64');
    return {
      url: url.href,
      configuration: [
        ['http', list.length > 0 ? { curloptResolve: `${url.hostname}:${port}:${list.join()}` } : {}],
        ['http', authorities === undefined ? {} : { sslCAInfo: AUTHORITIES, proxySSLCAInfo: AUTHORITIES }],
        ['http', proxied?.settings ?? {}],
        [`http "${url.origin}"`, password === '' ? {} : { extraHeader: `Authorization: Basic ${basic}` }],
      ],
      files: authorities === undefined ? {} : { [AUTHORITIES]: authorities },
      secrets: password === '' ? [] : [password, basic, encodeURIComponent(password)],
      proxySecrets: proxied?.secrets ?? [],
      isPinned: list.length > 0,
    };
  }

  private async bySsh(
    repository: SshRepository,
    source: GitSource,
    mustBePublic: boolean,
  ): Promise<Omit<GitConnection, 'protocol' | 'path'>> {
    const { auth } = source.settings;
    if (auth?.privateKeyFile === undefined || auth.knownHostsFile === undefined)
      throw new FetchError('git.auth has no privateKeyFile and knownHostsFile, which ssh needs');
    const [pinned] = mustBePublic ? await this.addressesOf(repository.host, repository.url) : [];
    const key = await this.files.secret(auth.privateKeyFile, source);
    return {
      url: repository.url,
      configuration: [],
      files: {
        [SSH_CONFIG]: sshConfig(repository, pinned?.address),
        [KEY]: `${key}\n`,
        [KNOWN_HOSTS]: `${await this.files.secret(auth.knownHostsFile, source)}\n`,
      },
      secrets: [key],
      proxySecrets: [],
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

  private async password(file: string, source: GitSource): Promise<string> {
    const password = await this.files.secret(file, source);
    if (/\p{Cc}/u.test(password))
      throw new FetchError(`${file} holds no password: it must be one line of text`);
    return password;
  }
}

function refuseLiteral(url: URL): void {
  try {
    checkLiteralAddress(url);
  } catch (error) {
    throw new FetchError(`${url.href}: ${(error as Error).message}`);
  }
}

/** The settings of git that lead through a proxy, and what in them is secret. */
function proxySettings({ origin, credentials }: ProxyServer): {
  settings: Readonly<Record<string, string>>;
  secrets: string[];
} {
  if (!credentials) return { settings: { proxy: origin }, secrets: [] };
  const { username, password } = credentials;
  const [user, secret] = [username, password].map(encodeURIComponent);
  return {
    settings: { proxy: origin.replace('://', `://${user}:${secret}@`), proxyAuthMethod: 'basic' },
    secrets: password === '' ? [] : [password, encodeURIComponent(password)],
  };
}

// Git trusts the authorities that Node trusts; without the variable those that the machine trusts.
async function furtherAuthorities(): Promise<string | undefined> {
  const file = readEnvironment()['NODE_EXTRA_CA_CERTS'];
  const more = file ? await readFile(file, 'utf8').catch(() => undefined) : undefined;
  return more === undefined ? undefined : [...rootCertificates, more, ''].join('\n');
}
