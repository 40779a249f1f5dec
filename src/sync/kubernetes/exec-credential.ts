import { execFile } from 'node:child_process';
import { resolve, sep } from 'node:path';
import { promisify } from 'node:util';
import type { Cluster, User } from '@kubernetes/client-node';
import { readEnvironment } from '../../config/environment.js';
import { elements, member } from '../../json/json-values.js';
import { ClusterError } from './cluster-error.js';

/** Long enough for cloud plugins, which make network requests. */
const TIMEOUT_MS = 15_000;
const MAX_OUTPUT_BYTES = 1024 * 1024;

/** What a credential plugin returned, as settings of the kubeconfig user. */
export interface ExecCredential {
  readonly user: Partial<User>;
  /** Unix time in milliseconds; Infinity if the credential does not expire. */
  readonly expiresAt: number;
}

/**
 * Runs the credential plugin of a kubeconfig user (client-go credential plugins, `users[].user.exec`). The client would
 * run it without a timeout and without `KUBERNETES_EXEC_INFO`. Errors never quote the output, which may contain
 * credentials.
 *
 * @param directory of a command with a relative path.
 * @throws ClusterError
 */
export async function runExecPlugin(
  exec: unknown,
  cluster: Cluster,
  directory: string,
): Promise<ExecCredential> {
  const name = String(member(exec, 'command'));
  // A command without a slash is looked up in PATH.
  const command = name.includes(sep) ? resolve(directory, name) : name;
  const variables = elements(member(exec, 'env')).map((variable) => [
    String(member(variable, 'name')),
    String(member(variable, 'value') ?? ''),
  ]);
  const env = {
    ...readEnvironment(),
    ...Object.fromEntries(variables),
    KUBERNETES_EXEC_INFO: JSON.stringify(execInfo(exec, cluster)),
  };
  try {
    const running = promisify(execFile)(command, elements(member(exec, 'args')).map(String), {
      env,
      timeout: TIMEOUT_MS,
      killSignal: 'SIGKILL',
      maxBuffer: MAX_OUTPUT_BYTES,
    });
    // Writing fails if the process has already exited.
    running.child.stdin?.on('error', () => undefined).end();
    return parseCredential(JSON.parse((await running).stdout));
  } catch (error) {
    throw new ClusterError(
      `The command ${command} of the kubeconfig ` +
        ((error as NodeJS.ErrnoException).code === 'ENOENT'
          ? 'was not found'
          : `returned no credentials within ${TIMEOUT_MS / 1_000} s: run it by hand to see why`),
    );
  }
}

function execInfo(exec: unknown, cluster: Cluster): object {
  const clusterInfo = {
    server: cluster.server,
    'tls-server-name': cluster.tlsServerName,
    'insecure-skip-tls-verify': cluster.skipTLSVerify || undefined,
    'certificate-authority-data': cluster.caData,
    'proxy-url': cluster.proxyUrl,
  };
  const needsCluster = member(exec, 'provideClusterInfo') === true;
  return {
    apiVersion: member(exec, 'apiVersion'),
    kind: 'ExecCredential',
    spec: { interactive: false, ...(needsCluster ? { cluster: clusterInfo } : {}) },
  };
}

/** @throws Error for output without a credential. */
function parseCredential(output: unknown): ExecCredential {
  const status = member(output, 'status');
  const text = (key: string) => {
    const value = member(status, key);
    return typeof value === 'string' && value !== '' ? value : undefined;
  };
  const [token, certificate, key] = [text('token'), text('clientCertificateData'), text('clientKeyData')];
  if ((certificate === undefined) !== (key === undefined) || (token ?? key) === undefined)
    throw new Error('no credential');
  const expiresAt = Date.parse(text('expirationTimestamp') ?? '');
  return {
    user: {
      ...(token === undefined ? {} : { token }),
      ...(certificate === undefined ? {} : { certData: base64(certificate) }),
      ...(key === undefined ? {} : { keyData: base64(key) }),
    },
    expiresAt: Number.isNaN(expiresAt) ? Infinity : expiresAt,
  };
}

function base64(text: string): string {
  return Buffer.from(text).toString('base64');
}
