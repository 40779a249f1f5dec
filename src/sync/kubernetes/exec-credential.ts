import { execFile } from 'node:child_process';
import { readEnvironment } from '../../config/environment.js';
import { elements, isObject, member } from '../../json/json-values.js';
import { ClusterError } from './cluster-error.js';
import type { KubeconfigEntry } from './kubeconfig-merge.js';

/** Long enough for cloud plugins, which make network requests. */
const TIMEOUT_MS = 15_000;
const MAX_OUTPUT_BYTES = 1024 * 1024;
const CLUSTER_EXTENSION = 'client.authentication.k8s.io/exec';

/** The `status` of an ExecCredential. The certificate and key are PEM-encoded; both are set or neither is. */
export interface ExecCredential {
  readonly token?: string;
  readonly clientCertificate?: string;
  readonly clientKey?: string;
  /** Unix time in milliseconds; Infinity if the credential does not expire. */
  readonly expiresAt: number;
}

/**
 * Runs the credential plugin of a kubeconfig user (client-go credential plugins, `users[].user.exec`). Errors never
 * quote the plugin's stdout or stderr, because both may contain credentials.
 *
 * @param exec the plugin's settings, with the command's path resolved.
 * @param cluster the cluster's entry, with the certificate authority as data.
 * @throws ClusterError
 */
export async function runExecPlugin(
  exec: KubeconfigEntry,
  cluster: KubeconfigEntry,
): Promise<ExecCredential> {
  const command = member(exec, 'command');
  if (typeof command !== 'string' || command === '')
    throw new ClusterError('The exec section of the kubeconfig has no command');
  if (member(exec, 'interactiveMode') === 'Always')
    throw new ClusterError(
      `The command ${command} of the kubeconfig needs a terminal (interactiveMode: Always)`,
    );
  const output = await run(command, exec, execInfo(exec, cluster));
  const credential = parseExecCredential(output, member(exec, 'apiVersion'));
  if (typeof credential === 'string')
    throw new ClusterError(`The command ${command} of the kubeconfig returned no credentials: ${credential}`);
  return credential;
}

/** Returns the value of `KUBERNETES_EXEC_INFO`: an ExecCredential with a `spec`. */
export function execInfo(exec: KubeconfigEntry, cluster: KubeconfigEntry): string {
  const extension = elements(member(cluster, 'extensions')).find(
    (entry) => member(entry, 'name') === CLUSTER_EXTENSION,
  );
  const clusterInfo = {
    server: member(cluster, 'server'),
    'tls-server-name': member(cluster, 'tls-server-name'),
    'insecure-skip-tls-verify': member(cluster, 'insecure-skip-tls-verify'),
    'certificate-authority-data': member(cluster, 'certificate-authority-data'),
    'proxy-url': member(cluster, 'proxy-url'),
    config: member(extension, 'extension'),
  };
  const needsCluster = member(exec, 'provideClusterInfo') === true;
  return JSON.stringify({
    apiVersion: member(exec, 'apiVersion'),
    kind: 'ExecCredential',
    spec: { interactive: false, ...(needsCluster ? { cluster: clusterInfo } : {}) },
  });
}

/**
 * Parses the output of a plugin.
 *
 * @param apiVersion the API version in the kubeconfig; the output must have the same one.
 * @returns the credential, or the problem as part of a sentence, without quoting the output.
 */
export function parseExecCredential(output: string, apiVersion: unknown): ExecCredential | string {
  let answer: unknown;
  try {
    answer = JSON.parse(output);
  } catch {
    return 'its output is not JSON';
  }
  if (member(answer, 'kind') !== 'ExecCredential') return 'its output is not an ExecCredential';
  if (member(answer, 'apiVersion') !== apiVersion)
    return `its output does not have the apiVersion ${String(apiVersion)} of the kubeconfig`;
  const status = member(answer, 'status');
  const token = textOf(status, 'token');
  const clientCertificate = textOf(status, 'clientCertificateData');
  const clientKey = textOf(status, 'clientKeyData');
  if ((clientCertificate === undefined) !== (clientKey === undefined))
    return 'its output has a certificate or a key without the other';
  if (token === undefined && clientKey === undefined)
    return 'its output has neither a token nor a certificate';
  const expiresAt = Date.parse(textOf(status, 'expirationTimestamp') ?? '');
  return {
    ...(token === undefined ? {} : { token }),
    ...(clientCertificate === undefined || clientKey === undefined ? {} : { clientCertificate, clientKey }),
    expiresAt: Number.isNaN(expiresAt) ? Infinity : expiresAt,
  };
}

function run(command: string, exec: KubeconfigEntry, info: string): Promise<string> {
  const env = { ...readEnvironment() };
  for (const variable of elements(member(exec, 'env')))
    if (isObject(variable)) env[String(variable['name'])] = String(variable['value'] ?? '');
  env['KUBERNETES_EXEC_INFO'] = info;
  const options = { env, timeout: TIMEOUT_MS, killSignal: 'SIGKILL', maxBuffer: MAX_OUTPUT_BYTES } as const;
  return new Promise((resolve, reject) => {
    const child = execFile(command, elements(member(exec, 'args')).map(String), options, (error, stdout) => {
      if (error) reject(new ClusterError(failure(command, exec, error)));
      else resolve(stdout);
    });
    // Writing fails if the process has already exited.
    child.stdin?.on('error', () => undefined).end();
  });
}

function failure(
  command: string,
  exec: KubeconfigEntry,
  { code, killed }: { code?: string | number | null | undefined; killed?: boolean },
): string {
  const hint = member(exec, 'installHint');
  const subject = `The command ${command} of the kubeconfig`;
  if (code === 'ENOENT')
    return `${subject} was not found${typeof hint === 'string' ? `. ${hint.trim()}` : ''}`;
  if (code === 'ERR_CHILD_PROCESS_STDIO_MAXBUFFER')
    return `${subject} prints more than ${MAX_OUTPUT_BYTES} bytes`;
  if (killed === true) return `${subject} did not finish within ${TIMEOUT_MS / 1000} s`;
  return `${subject} failed (${code ?? 'killed by a signal'}): run it by hand to see why`;
}

function textOf(value: unknown, key: string): string | undefined {
  const text = member(value, key);
  return typeof text === 'string' && text !== '' ? text : undefined;
}
