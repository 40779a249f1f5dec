import { existsSync, readFileSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import type { RequestOptions } from 'node:https';
import { homedir } from 'node:os';
import { join } from 'node:path';
import type { KubeConfig } from '@kubernetes/client-node';
import { elements, isObject, member } from '../../json/json-values.js';
import { ClusterError } from './cluster-error.js';
import { execCredential, type ExecCredential } from './exec-credential.js';
import {
  type KubeconfigEntry,
  type KubeconfigFile,
  type MergedKubeconfig,
  mergeKubeconfigs,
} from './kubeconfig-files.js';

const SERVICE_ACCOUNT = '/var/run/secrets/kubernetes.io/serviceaccount/token';
/** The longest time that setTimeout takes. */
const LONGEST_TIMER_MS = 2 ** 31 - 1;

/** Where the API server is and how we show who we are. */
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
  /** The entries of both as they stand in the file; empty in a pod. */
  readonly clusterEntry: KubeconfigEntry;
  readonly userEntry: KubeconfigEntry;
  readonly empty: () => KubeConfig;
}

/**
 * Reads what kubectl would read, or the service account of the pod, by the official client, except where that differs from
 * kubectl: it merges no entries of one name, stops at a missing file, knows no `tokenFile`, does not resolve the command of
 * `exec`, tells it nothing and runs it at each request.
 */
export class Kubeconfig {
  private loaded: Promise<LoadedKubeconfig> | undefined;
  private executed: { readonly key: string; readonly credential: Promise<ExecCredential> } | undefined;

  /** @param files absolute; none: the service account of the pod, or else that of the home directory. */
  constructor(private readonly files: readonly string[]) {}

  /** @throws ClusterError */
  async connect(): Promise<Connection> {
    const loaded = (this.loaded ??= load(this.files));
    try {
      const { cluster, user, userEntry, empty } = await loaded;
      const { shown, credential } = await this.credentials(await loaded);
      const config = empty();
      config.loadFromClusterAndUser(
        // The client takes http:// for a mistake without this; kubectl does not.
        { ...cluster, skipTLSVerify: cluster.skipTLSVerify || cluster.server.startsWith('http:') },
        { ...user, ...shown },
      );
      const options: RequestOptions = {};
      await config.applyToHTTPSOptions(options);
      options.headers = { ...options.headers, ...impersonation(userEntry) };
      return { server: cluster.server, options, loaded, credential };
    } catch (error) {
      if (this.loaded === loaded) this.loaded = undefined;
      if (error instanceof ClusterError) throw error;
      throw new ClusterError(`The credentials for the cluster could not be read: ${reasonOf(error)}`);
    }
  }

  /** Reads everything anew for the next connection: a file, or the token in it, may have been replaced. */
  forget({ loaded, credential }: Connection, { credentials = false } = {}): void {
    if (this.loaded === loaded) this.loaded = undefined;
    if (credentials && credential !== undefined && this.executed?.credential === credential)
      this.executed = undefined;
  }

  // As in kubectl, a token file comes before a token, and either before a command.
  private async credentials({ user, userEntry, clusterEntry }: LoadedKubeconfig): Promise<{
    shown: Partial<User>;
    credential?: Promise<ExecCredential>;
  }> {
    const tokenFile = member(userEntry, 'tokenFile');
    if (typeof tokenFile === 'string' && tokenFile !== '')
      return { shown: { token: await readToken(tokenFile, user.token) } };
    const exec = member(userEntry, 'exec');
    if (!isObject(exec) || user.token || user.username) return { shown: {} };
    const credential = this.execute(exec, clusterEntry);
    const { token, clientCertificate, clientKey } = await credential;
    const shown = {
      ...(token === undefined ? {} : { token }),
      ...(clientCertificate === undefined ? {} : { certData: base64(clientCertificate) }),
      ...(clientKey === undefined ? {} : { keyData: base64(clientKey) }),
    };
    return { shown, credential };
  }

  // Once for all who ask, until it expires or is refused.
  private execute(exec: KubeconfigEntry, cluster: KubeconfigEntry): Promise<ExecCredential> {
    const key = JSON.stringify([exec, cluster]);
    if (this.executed?.key === key) return this.executed.credential;
    const credential = execCredential(exec, withAuthority(cluster));
    const executed = { key, credential };
    const drop = () => {
      if (this.executed === executed) this.executed = undefined;
    };
    this.executed = executed;
    credential.then(({ expiresAt }) => {
      const ms = expiresAt - Date.now();
      if (ms < LONGEST_TIMER_MS) setTimeout(drop, ms).unref();
    }, drop);
    return credential;
  }
}

async function load(files: readonly string[]): Promise<LoadedKubeconfig> {
  // Half a second and 70 MB, which a server without such a source does not pay.
  const { KubeConfig } = await import('@kubernetes/client-node');
  const config = new KubeConfig();
  const home = join(homedir(), '.kube', 'config');
  const named = files.length === 0 && !existsSync(SERVICE_ACCOUNT) && existsSync(home) ? [home] : files;
  const merged = named.length === 0 ? undefined : merge(named);
  if (merged) config.loadFromString(JSON.stringify(withoutExec(merged)), { onInvalidEntry: 'filter' });
  else if (existsSync(SERVICE_ACCOUNT)) config.loadFromCluster();
  else
    throw new ClusterError(
      'There is no cluster: the server runs in no pod with a service account, and neither REGISTRY_KUBECONFIG nor ' +
        'KUBECONFIG names a file',
    );
  const cluster = config.getCurrentCluster();
  if (!cluster?.server) throw new ClusterError('The kubeconfig has no current context that names a cluster');
  const user = config.getCurrentUser() ?? { name: 'nobody' };
  return {
    cluster,
    user,
    clusterEntry: entryOf(merged?.clusters, cluster.name, 'cluster'),
    userEntry: entryOf(merged?.users, user.name, 'user'),
    empty: () => new KubeConfig(),
  };
}

function merge(names: readonly string[]): MergedKubeconfig {
  const files = names.flatMap((name) => readKubeconfig(name) ?? []);
  if (files.length === 0)
    throw new ClusterError(`The kubeconfig ${names.join(', ')} could not be read: there is no such file`);
  return mergeKubeconfigs(files);
}

/** Undefined when it is not there. */
function readKubeconfig(path: string): KubeconfigFile | undefined {
  try {
    return { path, text: readFileSync(path, 'utf8') };
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'ENOENT') return undefined;
    throw new ClusterError(`The kubeconfig ${path} could not be read: ${code ?? 'for no known reason'}`);
  }
}

function entryOf(
  entries: readonly KubeconfigEntry[] | undefined,
  name: string,
  key: string,
): KubeconfigEntry {
  const entry = member(
    entries?.find((one) => one['name'] === name),
    key,
  );
  return isObject(entry) ? entry : {};
}

// We run the command.
function withoutExec(merged: MergedKubeconfig): MergedKubeconfig {
  const users = merged.users.map((entry) => {
    const user = member(entry, 'user');
    return isObject(user) ? { ...entry, user: { ...user, exec: undefined } } : entry;
  });
  return { ...merged, users };
}

function withAuthority(cluster: KubeconfigEntry): KubeconfigEntry {
  const file = cluster['certificate-authority'];
  return typeof file === 'string'
    ? { ...cluster, 'certificate-authority-data': readFileSync(file).toString('base64') }
    : cluster;
}

async function readToken(file: string, otherwise: string | undefined): Promise<string> {
  const text = await readFile(file, 'utf8').catch((error: NodeJS.ErrnoException) => error);
  const token = typeof text === 'string' ? text.trim() : '';
  if (token !== '') return token;
  if (otherwise !== undefined && otherwise !== '') return otherwise;
  const why = typeof text === 'string' ? 'it is empty' : (text.code ?? text.message);
  throw new ClusterError(`The token file ${file} of the kubeconfig could not be read: ${why}`);
}

// The official client sends the user alone; without the groups that go with it we would act as somebody else.
function impersonation(user: KubeconfigEntry): Record<string, string | string[]> {
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

// A parser quotes what it could not parse.
function reasonOf(error: unknown): string {
  if (error instanceof SyntaxError || !(error instanceof Error)) return 'something in them cannot be parsed';
  return error.message;
}

function base64(text: string): string {
  return Buffer.from(text).toString('base64');
}
