import type { LookupAddress } from 'node:dns';
import { mkdir, open, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir, userInfo } from 'node:os';
import { join } from 'node:path';
import { rootCertificates } from 'node:tls';
import type { ConfigType } from '@nestjs/config';
import type { Claims } from '../claims/claims.js';
import type { Origin } from '../config/config.js';
import { readEnvironment } from '../config/environment.js';
import type { adminSourcesConfig } from '../config/slices.js';
import { createTemporary, removeLeftovers } from '../limits/leftovers.js';
import { DIRECT, type ProxyConfig, proxyFor, type ProxyServer } from '../outbound/dispatcher.js';
import { FetchError } from '../outbound/fetch-error.js';
import type { ResolveAll } from '../outbound/name-resolution.js';
import {
  checkLiteralAddress,
  PrivateAddressError,
  publicAddresses,
  UNREACHABLE,
} from '../outbound/private-address.js';
import {
  type HttpRepository,
  parseGitRepository,
  type SshRepository,
} from '../source-kinds/git-repository.js';
import type { SettingsOf } from '../source-kinds/kinds.js';

/** Files in the directory where git and ssh run. */
const SSH_CONFIG = 'ssh_config';
const KEY = 'key';
const KNOWN_HOSTS = 'known_hosts';
const AUTHORITIES = 'authorities.pem';
const BEGINNING_BYTES = 4 * 1024;
const DIRECTORY_PREFIX = 'registry-git-';
/** No fetch takes this long, so an older directory was left behind by a killed server. */
const LEFTOVER_MS = 60 * 60_000;

/** Messages from ssh itself, and the server's standard error. Git's standard error contains neither. */
export const SSH_LOG = 'ssh_log';
export const SSH_SERVER_WORDS = 'ssh_server_words';

/** The ssh command that git runs in a shell; it ignores system and user configuration. */
export const SSH_COMMAND = `ssh -F ${SSH_CONFIG} -E ${SSH_LOG} 2>${SSH_SERVER_WORDS}`;

/**
 * Returns an ssh configuration with one key and a known-hosts file, without commands, forwarding or prompts.
 *
 * @param address the address to connect to; the host key is still looked up by name.
 */
function sshConfig({ host, port }: SshRepository, address: string | undefined): string {
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

/** The sections of a git configuration, in order. */
type GitConfiguration = readonly (readonly [section: string, Readonly<Record<string, string>>])[];

/**
 * An empty bare repository in a temporary directory that only this user can access. The password is written only to the
 * repository's configuration file, never to a command line or the environment, and is removed with the directory.
 */
export class GitWorkspace {
  private constructor(readonly directory: string) {}

  /** @throws FetchError if the directory cannot be created. */
  static async open(): Promise<GitWorkspace> {
    try {
      const workspace = new GitWorkspace(await createTemporary(DIRECTORY_PREFIX));
      await workspace.initialize();
      return workspace;
    } catch (error) {
      const { code, message } = error as NodeJS.ErrnoException;
      throw new FetchError(`Cannot create a temporary directory in ${tmpdir()}: ${code ?? message}`);
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

  /** Returns the beginning of a file; empty if there is none. */
  async beginning(name: string): Promise<string> {
    const file = await open(join(this.directory, name)).catch(() => undefined);
    if (!file) return '';
    try {
      const { buffer, bytesRead } = await file.read(Buffer.alloc(BEGINNING_BYTES));
      return buffer.subarray(0, bytesRead).toString();
    } finally {
      await file.close();
    }
  }

  /** Returns the current size of the directory. */
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

  // Does what `git init --bare` does, without templates (gitrepository-layout(5)).
  private async initialize(): Promise<void> {
    for (const folder of ['objects', 'refs', 'info']) await mkdir(join(this.directory, folder));
    await this.write('HEAD', 'ref: refs/heads/none\n');
  }
}

/** Removes the temporary directories of killed servers. */
export function removeGitLeftovers(): Promise<void> {
  return removeLeftovers(DIRECTORY_PREFIX, LEFTOVER_MS);
}

function quoted(value: string): string {
  return `"${value.replaceAll(/["\\]/g, '\\$&')}"`;
}

/** Settings for connecting to a repository. */
export interface GitConnection {
  readonly url: string;
  readonly protocol: string;
  /** Git settings, including the password. */
  readonly configuration: GitConfiguration;
  /** Contents of the files that the configuration refers to, by file name. */
  readonly files: Readonly<Record<string, string>>;
  readonly secrets: readonly string[];
  /** The proxy's secrets, in every encoding in which they are sent. */
  readonly proxySecrets: readonly string[];
  /** The PATH for git. */
  readonly path: string | undefined;
  /** Whether the shown messages must not reveal the repository's address. */
  readonly hidesAddress: boolean;
  /** Whether the configuration pins the addresses to connect to; old versions of git ignore this setting. */
  readonly isPinned: boolean;
}

interface GitSource {
  readonly kind: 'git';
  readonly settings: SettingsOf<'git'>;
  readonly claims: Claims;
  readonly origin: Origin;
}

/** Reads the secrets referenced by the settings of a source. */
interface SecretFiles {
  secret(path: string, source: GitSource): Promise<string>;
}

/** Determines the credentials and addresses that a source uses to reach its repository. */
export class GitConnections {
  constructor(
    private readonly limits: Pick<ConfigType<typeof adminSourcesConfig>, 'adminAllowPrivateIP'>,
    private readonly files: SecretFiles,
    private readonly resolve?: ResolveAll,
    private readonly proxies: ProxyConfig = DIRECT,
  ) {}

  /** @throws FetchError if the source is not allowed to connect to its repository, or a setting is missing. */
  async connectionTo(source: GitSource): Promise<GitConnection> {
    const repository = parseGitRepository(source.settings.repository);
    if (!repository) throw new FetchError('git.repository is not an http, https or ssh address');
    const mustBePublic = source.origin !== 'config' && !this.limits.adminAllowPrivateIP;
    const common = {
      protocol: repository.protocol,
      path: readEnvironment()['PATH'],
      hidesAddress: mustBePublic,
    };
    return repository.protocol === 'ssh'
      ? { ...common, ...(await this.bySsh(repository, source, mustBePublic)) }
      : { ...common, ...(await this.byHttp(repository, source, mustBePublic)) };
  }

  private async byHttp(
    { url }: HttpRepository,
    source: GitSource,
    mustBePublic: boolean,
  ): Promise<Omit<GitConnection, 'protocol' | 'path' | 'hidesAddress'>> {
    const { auth } = source.settings;
    // curl does not pin host names with a trailing dot.
    if (mustBePublic) url.hostname = url.hostname.replace(/\.+$/, '');
    const proxy = proxyFor(url, this.proxies);
    if (mustBePublic && proxy) refuseLiteral(url);
    // A proxy resolves host names itself.
    const pinned = mustBePublic && !proxy ? await this.addressesOf(url.hostname, url.href) : [];
    const port = url.port || (url.protocol === 'https:' ? '443' : '80');
    const list = pinned.map(({ address, family }) => (family === 6 ? `[${address}]` : address));
    const isEncrypted = [url.origin, proxy?.origin].some((origin) => origin?.startsWith('https:'));
    const authorities = isEncrypted ? await trustedAuthorities() : undefined;
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
  ): Promise<Omit<GitConnection, 'protocol' | 'path' | 'hidesAddress'>> {
    const { auth } = source.settings;
    if (auth?.privateKeyFile === undefined || auth.knownHostsFile === undefined)
      throw new FetchError('git.auth must have privateKeyFile and knownHostsFile for ssh');
    if (!hasUserName())
      throw new FetchError('ssh needs an entry in /etc/passwd for the user ID that the server runs as');
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

  // Resolves and checks the addresses once and pins the connection to them, which prevents DNS rebinding.
  private async addressesOf(host: string, url: string): Promise<LookupAddress[]> {
    return publicAddresses(host, this.resolve).catch((error: unknown) => {
      const isPrivate = error instanceof PrivateAddressError;
      throw unreachable(url, isPrivate ? error.message : 'its host name could not be resolved');
    });
  }

  private async password(file: string, source: GitSource): Promise<string> {
    const password = await this.files.secret(file, source);
    if (/\p{Cc}/u.test(password))
      throw new FetchError(`${file} does not contain a password: it must be one line of text`);
    return password;
  }
}

function hasUserName(): boolean {
  try {
    return userInfo().username !== '';
  } catch {
    return false;
  }
}

function refuseLiteral(url: URL): void {
  try {
    checkLiteralAddress(url);
  } catch (error) {
    throw unreachable(url.href, (error as Error).message);
  }
}

/** Returns the error for a repository that must be at a public address and could not be reached. */
export function unreachable(url: string, reason: string): FetchError {
  return new FetchError(`${url}: ${reason}`, null, `${url}: ${UNREACHABLE}`);
}

/** Returns the git settings for a proxy, and the secrets in them. */
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

// Git trusts the same authorities as Node if NODE_EXTRA_CA_CERTS is set; otherwise it trusts the system's.
async function trustedAuthorities(): Promise<string | undefined> {
  const file = readEnvironment()['NODE_EXTRA_CA_CERTS'];
  const more = file ? await readFile(file, 'utf8').catch(() => undefined) : undefined;
  return more === undefined ? undefined : [...rootCertificates, more, ''].join('\n');
}
