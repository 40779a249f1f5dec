import { execFile } from 'node:child_process';
import { readEnvironment } from '../../config/environment.js';
import { elements, isObject, member } from '../../json/json-values.js';
import { ClusterError } from './cluster-error.js';
import type { KubeconfigEntry } from './kubeconfig-files.js';

/** Clouds look up who somebody is over the network. */
const TIMEOUT_MS = 15_000;
const MAX_OUTPUT_BYTES = 1024 * 1024;
const CLUSTER_EXTENSION = 'client.authentication.k8s.io/exec';

/** Of the `status` of an ExecCredential; certificate and key are PEM, and come together. */
export interface ExecCredential {
  readonly token?: string;
  readonly clientCertificate?: string;
  readonly clientKey?: string;
  /** Milliseconds since 1970; Infinity when it does not say. */
  readonly expiresAt: number;
}

/**
 * Asks the command of a kubeconfig who we are (client-go credential plugins: `users[].user.exec`). Neither its output nor
 * what it complains of is quoted: either may hold credentials.
 *
 * @param exec its settings; a relative command has been resolved.
 * @param cluster the cluster's entry, with data in place of the path of its certificate authority.
 * @throws ClusterError
 */
export async function execCredential(
  exec: KubeconfigEntry,
  cluster: KubeconfigEntry,
): Promise<ExecCredential> {
  const command = member(exec, 'command');
  if (typeof command !== 'string' || command === '')
    throw new ClusterError('The kubeconfig has an exec section without a command');
  if (member(exec, 'interactiveMode') === 'Always')
    throw new ClusterError(`The command ${command} of the kubeconfig wants a terminal, and there is none`);
  const output = await run(command, exec, execInfo(exec, cluster));
  const credential = parseExecCredential(output, member(exec, 'apiVersion'));
  if (typeof credential === 'string')
    throw new ClusterError(`The command ${command} of the kubeconfig gave no credentials: ${credential}`);
  return credential;
}

/** What the command gets as `KUBERNETES_EXEC_INFO`: an ExecCredential with a `spec`. */
export function execInfo(exec: KubeconfigEntry, cluster: KubeconfigEntry): string {
  const extension = elements(member(cluster, 'extensions')).find(
    (one) => member(one, 'name') === CLUSTER_EXTENSION,
  );
  const about = {
    server: member(cluster, 'server'),
    'tls-server-name': member(cluster, 'tls-server-name'),
    'insecure-skip-tls-verify': member(cluster, 'insecure-skip-tls-verify'),
    'certificate-authority-data': member(cluster, 'certificate-authority-data'),
    'proxy-url': member(cluster, 'proxy-url'),
    config: member(extension, 'extension'),
  };
  const isAsked = member(exec, 'provideClusterInfo') === true;
  return JSON.stringify({
    apiVersion: member(exec, 'apiVersion'),
    kind: 'ExecCredential',
    spec: { interactive: false, ...(isAsked ? { cluster: about } : {}) },
  });
}

/**
 * What the command has printed.
 *
 * @param apiVersion the one it was asked in, which it has to answer in.
 * @returns what is wrong with it as a part of a sentence, which quotes nothing of it.
 */
export function parseExecCredential(output: string, apiVersion: unknown): ExecCredential | string {
  let answer: unknown;
  try {
    answer = JSON.parse(output);
  } catch {
    return 'its output is no JSON';
  }
  if (member(answer, 'kind') !== 'ExecCredential') return 'its output is no ExecCredential';
  if (member(answer, 'apiVersion') !== apiVersion)
    return `it does not answer in the version ${String(apiVersion)}, as the kubeconfig says`;
  const status = member(answer, 'status');
  const token = textOf(status, 'token');
  const clientCertificate = textOf(status, 'clientCertificateData');
  const clientKey = textOf(status, 'clientKeyData');
  if ((clientCertificate === undefined) !== (clientKey === undefined))
    return 'there is a certificate or a key without the other';
  if (token === undefined && clientKey === undefined) return 'there is neither a token nor a certificate';
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
    // One that has ended already does not read it.
    child.stdin?.on('error', () => undefined).end();
  });
}

function failure(
  command: string,
  exec: KubeconfigEntry,
  { code, killed }: { code?: string | number | null | undefined; killed?: boolean },
): string {
  const hint = member(exec, 'installHint');
  if (code === 'ENOENT')
    return `The command ${command} of the kubeconfig is not there${typeof hint === 'string' ? `. ${hint.trim()}` : ''}`;
  if (code === 'ERR_CHILD_PROCESS_STDIO_MAXBUFFER')
    return `The command ${command} of the kubeconfig prints more than credentials`;
  if (killed === true)
    return `The command ${command} of the kubeconfig did not end within ${TIMEOUT_MS / 1000} s`;
  return `The command ${command} of the kubeconfig failed (${code ?? 'it was ended'}): try it by hand`;
}

function textOf(value: unknown, key: string): string | undefined {
  const text = member(value, key);
  return typeof text === 'string' && text !== '' ? text : undefined;
}
