import { existsSync, readFileSync } from 'node:fs';
import type { RequestOptions } from 'node:https';
import { createRequire } from 'node:module';
import { homedir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import type { Cluster, KubeConfig, User } from '@kubernetes/client-node';
import { parse } from 'yaml';
import { elements, isObject, member } from '../../json/json-values.js';
import { ClusterError } from './cluster-error.js';
import { type ExecCredential, runExecPlugin } from './exec-credential.js';

const SERVICE_ACCOUNT_TOKEN = '/var/run/secrets/kubernetes.io/serviceaccount/token';
/** Settings that the client ignores, though permissions depend on them. */
const IMPERSONATION = ['as-uid', 'as-groups', 'as-user-extra'];

/** The address of the API server, and the request options with the credentials. */
export interface ClusterConnection {
  readonly server: string;
  readonly options: RequestOptions;
}

interface LoadedKubeconfig {
  readonly cluster: Cluster;
  readonly user: User;
  /** The user's settings as written, some of which the client does not read, and the directory of their file. */
  readonly settings: unknown;
  readonly directory: string;
}

/**
 * Connects with the kubeconfig or the pod's service account, using `@kubernetes/client-node`. Handles token files and
 * exec plugins itself (decision 015).
 */
export class Kubeconfig {
  private loaded: LoadedKubeconfig | null = null;
  private executed: { readonly key: string; readonly credential: Promise<ExecCredential> } | null = null;

  /** @param files absolute paths; if empty, uses the pod's service account, or else `~/.kube/config`. */
  constructor(private readonly files: readonly string[]) {}

  /** @throws ClusterError */
  async connect(): Promise<ClusterConnection> {
    try {
      const loaded = (this.loaded ??= load(this.files));
      const { cluster, user } = loaded;
      const config = new (client().KubeConfig)();
      config.loadFromClusterAndUser(
        // Unlike kubectl, the client refuses http:// URLs unless this is set.
        { ...cluster, skipTLSVerify: cluster.skipTLSVerify || cluster.server.startsWith('http:') },
        { ...user, exec: null, ...(await this.credentials(loaded)) },
      );
      const options: RequestOptions = {};
      await config.applyToHTTPSOptions(options);
      return { server: cluster.server, options };
    } catch (error) {
      this.forget();
      if (error instanceof ClusterError) throw error;
      throw new ClusterError(`Cannot read the credentials for the cluster: ${reasonOf(error)}`);
    }
  }

  /** Makes the next `connect` read the files again, because the files or their tokens may have been replaced. */
  forget({ credentials = false } = {}): void {
    this.loaded = null;
    if (credentials) this.executed = null;
  }

  // A token file takes precedence over a token, and both take precedence over a command, as in kubectl.
  private async credentials(loaded: LoadedKubeconfig): Promise<Partial<User>> {
    const { cluster, user, settings, directory } = loaded;
    const tokenFile = member(settings, 'tokenFile');
    if (typeof tokenFile === 'string' && tokenFile !== '')
      return { token: readToken(resolve(directory, tokenFile)) };
    if (!user.exec || user.token || user.username) return {};
    return (await this.execute(user.exec, cluster, directory)).user;
  }

  /** Runs the plugin once, and again when its credential has expired or was refused. */
  private async execute(exec: unknown, cluster: Cluster, directory: string): Promise<ExecCredential> {
    const key = JSON.stringify([exec, cluster, directory]);
    const seen = this.executed;
    const known = seen?.key === key ? await seen.credential.catch(() => null) : null;
    if (known && known.expiresAt > Date.now()) return known;
    if (this.executed === seen || this.executed?.key !== key)
      this.executed = { key, credential: runExecPlugin(exec, cluster, directory) };
    return this.executed.credential;
  }
}

/** Returns why credentials cannot be read. Errors of parsers quote the text, which may contain a credential. */
function reasonOf(error: unknown): string {
  return error instanceof Error && !(error instanceof SyntaxError)
    ? error.message
    : 'they contain invalid data';
}

/**
 * Loads the client on first use, which takes half a second and 70 MB. Unlike `import()`, it tries again after a failure, such as
 * too many open files.
 */
function client(): typeof import('@kubernetes/client-node') {
  return createRequire(import.meta.url)('@kubernetes/client-node') as never;
}

function load(files: readonly string[]): LoadedKubeconfig {
  const home = join(homedir(), '.kube', 'config');
  const isInPod = existsSync(SERVICE_ACCOUNT_TOKEN);
  const paths = files.length === 0 && !isInPod && existsSync(home) ? [home] : files;
  const config = new (client().KubeConfig)();
  const found = paths.filter((path) => existsSync(path)).map(readKubeconfig);
  // The client uses the first entry with a name, like kubectl.
  if (found.length > 0)
    config.loadFromOptions({
      clusters: found.flatMap((file) => file.config.clusters),
      users: found.flatMap((file) => file.config.users),
      contexts: found.flatMap((file) => file.config.contexts),
      currentContext: found.map((file) => file.config.currentContext).find(Boolean),
    });
  else if (paths.length > 0)
    throw new ClusterError(`Cannot read the kubeconfig ${paths.join(', ')}: there is no such file`);
  else if (isInPod) config.loadFromCluster();
  else
    throw new ClusterError(
      'No cluster is configured: the server does not run in a pod with a service account, and neither ' +
        'REGISTRY_KUBECONFIG nor KUBECONFIG points to a file',
    );
  const cluster = config.getCurrentCluster();
  if (!cluster?.server) throw new ClusterError('The kubeconfig has no current context with a cluster');
  const user = config.getCurrentUser() ?? { name: 'anonymous' };
  const file = found.find(({ config: { users } }) => users.some(({ name }) => name === user.name));
  const written = file?.users.find((entry) => member(entry, 'name') === user.name);
  const settings = member(written, 'user');
  for (const key of IMPERSONATION)
    if (member(settings, key) !== undefined)
      throw new ClusterError(`The setting ${key} of the kubeconfig is not supported`);
  return { cluster, user, settings, directory: file?.directory ?? '' };
}

interface KubeconfigFile {
  readonly config: KubeConfig;
  /** The list `users`, as written. */
  readonly users: readonly unknown[];
  readonly directory: string;
}

/** An empty file is a kubeconfig without entries. */
function readKubeconfig(path: string): KubeconfigFile {
  let document: unknown;
  let reason = 'it is not a kubeconfig';
  try {
    document = parse(readFileSync(path, 'utf8')) ?? {};
  } catch (error) {
    // The parser's message quotes the text, which contains credentials.
    const { code = '', syscall } = error as NodeJS.ErrnoException;
    if (syscall) reason = code;
  }
  if (!isObject(document)) throw new ClusterError(`Cannot read the kubeconfig ${path}: ${reason}`);
  const config = new (client().KubeConfig)();
  config.loadFromString(JSON.stringify(document), { onInvalidEntry: 'filter' });
  config.makePathsAbsolute(dirname(path));
  return { config, users: elements(document['users']), directory: dirname(path) };
}

function readToken(file: string): string {
  let reason = 'it is empty';
  try {
    const token = readFileSync(file, 'utf8').trim();
    if (token !== '') return token;
  } catch (error) {
    reason = (error as NodeJS.ErrnoException).code ?? 'unknown error';
  }
  throw new ClusterError(`Cannot read the token file ${file} of the kubeconfig: ${reason}`);
}
