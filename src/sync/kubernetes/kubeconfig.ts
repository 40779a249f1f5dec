import { existsSync, readFileSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import type { RequestOptions } from 'node:https';
import { createRequire } from 'node:module';
import { homedir } from 'node:os';
import { join } from 'node:path';
import type { KubeConfig } from '@kubernetes/client-node';
import { elements, isObject, member } from '../../json/json-values.js';
import { ClusterError } from './cluster-error.js';
import { type ExecCredential, runExecPlugin } from './exec-credential.js';
import { type KubeconfigEntry, type MergedKubeconfig, mergeKubeconfigs } from './kubeconfig-merge.js';

const SERVICE_ACCOUNT_TOKEN = '/var/run/secrets/kubernetes.io/serviceaccount/token';
/** The longest delay that `setTimeout` accepts. */
const MAX_TIMER_MS = 2 ** 31 - 1;

/** The address of the API server, and the request options with the credentials. */
export interface Connection {
  readonly server: string;
  readonly options: RequestOptions;
  readonly loaded: Promise<LoadedKubeconfig>;
  readonly credential: Promise<ExecCredential> | undefined;
}

type Cluster = NonNullable<ReturnType<KubeConfig['getCurrentCluster']>>;
type User = NonNullable<ReturnType<KubeConfig['getCurrentUser']>>;

interface LoadedKubeconfig {
  readonly cluster: Cluster;
  readonly user: User;
  /** The entries as written in the file; empty in a pod. */
  readonly clusterEntry: KubeconfigEntry;
  readonly userEntry: KubeconfigEntry;
  readonly newConfig: () => KubeConfig;
}

/**
 * Connects with the kubeconfig or the pod's service account. `@kubernetes/client-node` applies TLS, proxies, basic
 * authentication and legacy auth providers; this project implements merging, token files and exec plugins (decision
 * 015).
 */
export class Kubeconfig {
  private loaded: Promise<LoadedKubeconfig> | undefined;
  private executed: { readonly key: string; readonly credential: Promise<ExecCredential> } | undefined;

  /** @param files absolute paths; if empty, uses the pod's service account, or else `~/.kube/config`. */
  constructor(private readonly files: readonly string[]) {}

  /** @throws ClusterError */
  async connect(): Promise<Connection> {
    const loaded = (this.loaded ??= load(this.files));
    try {
      const kubeconfig = await loaded;
      const { cluster, user, userEntry, newConfig } = kubeconfig;
      const { overrides, credential } = await this.credentials(kubeconfig);
      const config = newConfig();
      config.loadFromClusterAndUser(
        // Unlike kubectl, the client refuses http:// URLs unless this is set.
        { ...cluster, skipTLSVerify: cluster.skipTLSVerify || cluster.server.startsWith('http:') },
        { ...user, ...overrides },
      );
      const options: RequestOptions = {};
      await config.applyToHTTPSOptions(options);
      options.headers = { ...options.headers, ...impersonationHeaders(userEntry) };
      return { server: cluster.server, options, loaded, credential };
    } catch (error) {
      if (this.loaded === loaded) this.loaded = undefined;
      if (error instanceof ClusterError) throw error;
      throw new ClusterError(`Cannot read the credentials for the cluster: ${reasonOf(error)}`);
    }
  }

  /** Makes the next `connect` read the files again, because the files or their tokens may have been replaced. */
  forget({ loaded, credential }: Connection, { credentials = false } = {}): void {
    if (this.loaded === loaded) this.loaded = undefined;
    if (credentials && credential !== undefined && this.executed?.credential === credential)
      this.executed = undefined;
  }

  // As in kubectl, a token file takes precedence over a token, and both take precedence over a command.
  private async credentials({ user, userEntry, clusterEntry }: LoadedKubeconfig): Promise<{
    overrides: Partial<User>;
    credential?: Promise<ExecCredential>;
  }> {
    const tokenFile = member(userEntry, 'tokenFile');
    if (typeof tokenFile === 'string' && tokenFile !== '')
      return { overrides: { token: await readToken(tokenFile, user.token) } };
    const exec = member(userEntry, 'exec');
    if (!isObject(exec) || user.token || user.username) return { overrides: {} };
    const credential = this.execute(exec, clusterEntry);
    const { token, clientCertificate, clientKey } = await credential;
    const overrides = {
      ...(token === undefined ? {} : { token }),
      ...(clientCertificate === undefined ? {} : { certData: base64(clientCertificate) }),
      ...(clientKey === undefined ? {} : { keyData: base64(clientKey) }),
    };
    return { overrides, credential };
  }

  /** Runs the plugin once and reuses its credential until it expires or is refused. */
  private execute(exec: KubeconfigEntry, cluster: KubeconfigEntry): Promise<ExecCredential> {
    const key = JSON.stringify([exec, cluster]);
    if (this.executed?.key === key) return this.executed.credential;
    const credential = runExecPlugin(exec, withAuthorityData(cluster));
    const executed = { key, credential };
    const drop = () => {
      if (this.executed === executed) this.executed = undefined;
    };
    this.executed = executed;
    credential.then(({ expiresAt }) => {
      const ms = expiresAt - Date.now();
      if (ms < MAX_TIMER_MS) setTimeout(drop, ms).unref();
    }, drop);
    return credential;
  }
}

/** Unlike `import()`, it tries again after a failure, such as too many open files. */
const requireEsm = createRequire(import.meta.url);

async function load(files: readonly string[]): Promise<LoadedKubeconfig> {
  // The import takes half a second and 70 MB, so servers without Kubernetes sources skip it.
  const { KubeConfig } = requireEsm('@kubernetes/client-node') as typeof import('@kubernetes/client-node');
  const config = new KubeConfig();
  const home = join(homedir(), '.kube', 'config');
  const isInPod = existsSync(SERVICE_ACCOUNT_TOKEN);
  const paths = files.length === 0 && !isInPod && existsSync(home) ? [home] : files;
  const merged = paths.length === 0 ? undefined : merge(paths);
  if (merged) config.loadFromString(JSON.stringify(withoutExec(merged)), { onInvalidEntry: 'filter' });
  else if (isInPod) config.loadFromCluster();
  else
    throw new ClusterError(
      'No cluster is configured: the server does not run in a pod with a service account, and neither ' +
        'REGISTRY_KUBECONFIG nor KUBECONFIG names a file',
    );
  const cluster = config.getCurrentCluster();
  if (!cluster?.server) throw new ClusterError('The kubeconfig has no current context that names a cluster');
  const user = config.getCurrentUser();
  return {
    cluster,
    user: user ?? { name: 'anonymous' },
    clusterEntry: settingsOf(merged?.clusters, cluster.name, 'cluster'),
    userEntry: user ? settingsOf(merged?.users, user.name, 'user') : {},
    newConfig: () => new KubeConfig(),
  };
}

function merge(paths: readonly string[]): MergedKubeconfig {
  const files = paths.flatMap((path) => {
    const text = readIfExists(path);
    return text === undefined ? [] : [{ path, text }];
  });
  if (files.length === 0)
    throw new ClusterError(`Cannot read the kubeconfig ${paths.join(', ')}: there is no such file`);
  return mergeKubeconfigs(files);
}

function readIfExists(path: string): string | undefined {
  try {
    return readFileSync(path, 'utf8');
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'ENOENT') return undefined;
    throw new ClusterError(`Cannot read the kubeconfig ${path}: ${code ?? 'unknown error'}`);
  }
}

function settingsOf(
  entries: readonly KubeconfigEntry[] | undefined,
  name: string,
  key: string,
): KubeconfigEntry {
  const entry = entries?.find((candidate) => candidate['name'] === name);
  const settings = member(entry, key);
  return isObject(settings) ? settings : {};
}

// Removes `exec`, because the client would run the command.
function withoutExec(merged: MergedKubeconfig): MergedKubeconfig {
  const users = merged.users.map((entry) => {
    const user = member(entry, 'user');
    return isObject(user) ? { ...entry, user: { ...user, exec: undefined } } : entry;
  });
  return { ...merged, users };
}

function withAuthorityData(cluster: KubeconfigEntry): KubeconfigEntry {
  const file = cluster['certificate-authority'];
  return typeof file === 'string'
    ? { ...cluster, 'certificate-authority-data': readFileSync(file).toString('base64') }
    : cluster;
}

async function readToken(file: string, fallback: string | undefined): Promise<string> {
  const text = await readFile(file, 'utf8').catch((error: NodeJS.ErrnoException) => error);
  const token = typeof text === 'string' ? text.trim() : '';
  if (token !== '') return token;
  if (fallback !== undefined && fallback !== '') return fallback;
  const reason = typeof text === 'string' ? 'it is empty' : (text.code ?? text.message);
  throw new ClusterError(`Cannot read the token file ${file} of the kubeconfig: ${reason}`);
}

// The client sends only the name of the impersonated user. Permissions also depend on the other headers.
function impersonationHeaders(user: KubeconfigEntry): Record<string, string | string[]> {
  const uid = member(user, 'as-uid');
  const groups = elements(member(user, 'as-groups')).map(String);
  const extra = member(user, 'as-user-extra');
  return {
    ...(typeof uid === 'string' && uid !== '' ? { 'Impersonate-Uid': uid } : {}),
    ...(groups.length > 0 ? { 'Impersonate-Group': groups } : {}),
    ...Object.fromEntries(
      Object.entries(isObject(extra) ? extra : {}).map(([key, values]) => [
        `Impersonate-Extra-${encodeURIComponent(key)}`,
        elements(values).map(String),
      ]),
    ),
  };
}

// Parser errors quote the text, which may contain credentials.
function reasonOf(error: unknown): string {
  if (error instanceof SyntaxError || !(error instanceof Error)) return 'they contain invalid data';
  return error.message;
}

function base64(text: string): string {
  return Buffer.from(text).toString('base64');
}
