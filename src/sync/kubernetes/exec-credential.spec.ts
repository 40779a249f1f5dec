import { describe, expect, it } from 'vitest';
import { execInfo, parseExecCredential } from './exec-credential.js';

const V1 = 'client.authentication.k8s.io/v1';

describe('KUBERNETES_EXEC_INFO', () => {
  const cluster = {
    server: 'https://cluster.example.com',
    'certificate-authority-data': 'QQ==',
    'tls-server-name': 'cluster',
    extensions: [
      { name: 'other', extension: { a: 1 } },
      { name: 'client.authentication.k8s.io/exec', extension: { audience: 'registry' } },
    ],
  };

  it('has the API version and says that the plugin is not interactive', () => {
    expect(JSON.parse(execInfo({ apiVersion: V1 }, cluster))).toEqual({
      apiVersion: V1,
      kind: 'ExecCredential',
      spec: { interactive: false },
    });
  });

  it('has the cluster with provideClusterInfo', () => {
    expect(JSON.parse(execInfo({ apiVersion: V1, provideClusterInfo: true }, cluster))).toMatchObject({
      spec: {
        interactive: false,
        cluster: {
          server: 'https://cluster.example.com',
          'certificate-authority-data': 'QQ==',
          'tls-server-name': 'cluster',
          config: { audience: 'registry' },
        },
      },
    });
  });
});

describe('the output of an exec plugin', () => {
  const printed = (status: unknown, more: object = {}) =>
    JSON.stringify({ apiVersion: V1, kind: 'ExecCredential', status, ...more });
  const pair = { clientCertificateData: 'cert', clientKeyData: 'key' };

  it.each([
    [{ token: 'a' }, { token: 'a', expiresAt: Infinity }],
    [
      { token: 'a', expirationTimestamp: '2026-01-01T00:00:00Z' },
      { token: 'a', expiresAt: Date.parse('2026-01-01T00:00:00Z') },
    ],
    [pair, { clientCertificate: 'cert', clientKey: 'key', expiresAt: Infinity }],
    [
      { token: 'a', ...pair },
      { token: 'a', clientCertificate: 'cert', clientKey: 'key', expiresAt: Infinity },
    ],
  ])('is accepted: %j', (status, credential) =>
    expect(parseExecCredential(printed(status), V1)).toEqual(credential),
  );

  it.each([
    ['hunter2', 'its output is not JSON'],
    ['null', 'its output is not an ExecCredential'],
    [printed({ token: 'hunter2' }, { kind: 'Token' }), 'its output is not an ExecCredential'],
    [
      printed({ token: 'hunter2' }, { apiVersion: 'client.authentication.k8s.io/v1beta1' }),
      `its output does not have the apiVersion ${V1} of the kubeconfig`,
    ],
    [printed({}), 'its output has neither a token nor a certificate'],
    [printed(undefined), 'its output has neither a token nor a certificate'],
    [printed({ token: '' }), 'its output has neither a token nor a certificate'],
    [
      printed({ token: 'a', clientKeyData: 'key' }),
      'its output has a certificate or a key without the other',
    ],
  ])('is refused without being quoted: %j', (output, problem) =>
    expect(parseExecCredential(output, V1)).toBe(problem),
  );
});
