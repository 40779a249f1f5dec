import type { LookupAddress } from 'node:dns';
import { mkdir, mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
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

/** The files of ssh in the directory that git works in, where ssh begins too. */
export const SSH_CONFIG = 'ssh_config';
export const KEY = 'key';
export const KNOWN_HOSTS = 'known_hosts';

/** What git calls in place of ssh: neither the machine's configuration nor the user's is read. */
export const SSH_COMMAND = `ssh -F ${SSH_CONFIG}`;

/**
 * One key, hosts that are known, and nothing that runs a program, forwards a port or asks somebody.
 *
 * @param address connects there, whatever the name resolves to now; the key of the host is still that of its name.
 */
export function sshConfig({ host, port }: SshRepository, address: string | undefined): string {
  const name = port === 22 ? host : `[${host}]:${port}`;
  return [
    'Host *',
    ...(address === undefined ? [] : [`HostName ${address}`, `HostKeyAlias ${name}`]),
    `IdentityFile ${KEY}`,
    'IdentitiesOnly yes',
    'IdentityAgent none',
    `UserKnownHostsFile ${KNOWN_HOSTS}`,
    'GlobalKnownHostsFile /dev/null',
    'StrictHostKeyChecking yes',
    'UpdateHostKeys no',
    'CheckHostIP no',
    'CanonicalizeHostname no',
    'PreferredAuthentications publickey',
    'BatchMode yes',
    'ConnectTimeout 30',
    'ServerAliveInterval 15',
    'ServerAliveCountMax 2',
    'ProxyCommand none',
    'ProxyJump none',
    'PermitLocalCommand no',
    'ControlMaster no',
    'ControlPath none',
    'ClearAllForwardings yes',
    'ForwardAgent no',
    'ForwardX11 no',
    'RequestTTY no',
    'LogLevel ERROR',
    '',
  ].join('\n');
}

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
