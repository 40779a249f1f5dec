import { describe, expect, it } from 'vitest';
import { execInfo, parseExecCredential } from './exec-credential.js';

const V1 = 'client.authentication.k8s.io/v1';

describe('what a command of a kubeconfig is told', () => {
  const cluster = {
    server: 'https://cluster.example.com',
    'certificate-authority-data': 'QQ==',
    'tls-server-name': 'cluster',
    extensions: [
      { name: 'other', extension: { a: 1 } },
      { name: 'client.authentication.k8s.io/exec', extension: { audience: 'registry' } },
    ],
  };

  it('is the version, and that nobody is there to answer', () => {
    expect(JSON.parse(execInfo({ apiVersion: V1 }, cluster))).toEqual({
      apiVersion: V1,
      kind: 'ExecCredential',
      spec: { interactive: false },
    });
  });

  it('is the cluster too, if it asks for that', () => {
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

describe('what it prints', () => {
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
  ])('are credentials: %j', (status, credential) =>
    expect(parseExecCredential(printed(status), V1)).toEqual(credential),
  );

  it.each([
    ['hunter2', 'its output is no JSON'],
    ['null', 'its output is no ExecCredential'],
    [printed({ token: 'hunter2' }, { kind: 'Token' }), 'its output is no ExecCredential'],
    [
      printed({ token: 'hunter2' }, { apiVersion: 'client.authentication.k8s.io/v1beta1' }),
      `it does not answer in the version ${V1}, as the kubeconfig says`,
    ],
    [printed({}), 'there is neither a token nor a certificate'],
    [printed(undefined), 'there is neither a token nor a certificate'],
    [printed({ token: '' }), 'there is neither a token nor a certificate'],
    [printed({ token: 'a', clientKeyData: 'key' }), 'there is a certificate or a key without the other'],
  ])('are none, and nothing of it is quoted: %j', (output, problem) =>
    expect(parseExecCredential(output, V1)).toBe(problem),
  );
});
