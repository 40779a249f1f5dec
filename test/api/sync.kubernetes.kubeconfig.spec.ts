import { chmodSync, readFileSync } from 'node:fs';
import { delimiter } from 'node:path';
import { describe, expect, it } from 'vitest';
import { Kubeconfig } from '../../dist/sync/kubernetes/kubeconfig.js';
import { aWatchedCluster, exported, listed, syncOf } from '../support/cluster-objects.js';
import type { Document } from '../support/documents.js';
import { aKubeconfig } from '../support/kubeconfig.js';
import { keepSecret } from '../support/secrets.js';
import { within } from '../support/within.js';

const A_WHILE = 20_000;
const API_VERSION = 'client.authentication.k8s.io/v1';

const { cluster, service } = aWatchedCluster();
const server = () => ({ server: `https://127.0.0.1:${cluster.port}`, ca: cluster.certificates.ca });

/** Restarts with these kubeconfigs and makes a change that proves the watch works. */
async function startWith(...files: string[]): Promise<void> {
  await service.restart(() => {
    delete service.environment['REGISTRY_KUBECONFIG'];
    service.environment['KUBECONFIG'] = files.join(delimiter);
  });
}
const withUser = (name: string, user: Document) =>
  service.write(name, aKubeconfig({ cluster: server(), user }));
async function fails(error: RegExp): Promise<void> {
  await within(A_WHILE, async () => {
    const sync = await syncOf(service);
    expect(sync.status).toBe('failed');
    expect(sync.error).toMatch(error);
  });
}
/** Reads these kubeconfigs without the service. */
const connect = (...files: string[]) => new Kubeconfig(files).connect();
const connects = () => ({ server: server().server });

let changes = 0;
async function follows(): Promise<void> {
  const name = `change-${(changes += 1)}`;
  cluster.put('MCPServer', `tools/${name}`, exported(name));
  await within(A_WHILE, async () => expect(await listed(service)).toContain(`tools/${name}@1.0.0`));
}

describe('several files in KUBECONFIG', () => {
  it('are merged; the first definition of a name wins, and missing files are ignored', async () => {
    service.write('token', `${cluster.token}\n`);
    const user = service.write('user', aKubeconfig({ user: { tokenFile: 'token' }, context: false }));
    const whole = withUser('whole', { token: keepSecret('outdated-token') });
    await startWith('/nowhere/kubeconfig', user, whole);
    await follows();
    await startWith(whole, user);
    await fails(/\(401\): the token is wrong or has expired/);
  });

  it('fail when all are missing or one is invalid', async () => {
    await expect(connect('/nowhere/one', '/nowhere/two')).rejects.toThrow(
      /^Cannot read the kubeconfig \/nowhere\/one, \/nowhere\/two: there is no such file$/,
    );
    const broken = service.write('broken', 'token: "hunter2');
    await expect(connect(cluster.kubeconfig, broken)).rejects.toThrow(
      new RegExp(`^Cannot read the kubeconfig ${broken}: it is not a kubeconfig$`),
    );
    expect(await connect('/nowhere/one', cluster.kubeconfig)).toMatchObject(connects());
  });
});

describe('a kubeconfig with impersonated groups', () => {
  it('is refused, because its permissions would differ', async () => {
    const groups = withUser('groups', { token: cluster.token, as: 'jane', 'as-groups': ['readers'] });
    await expect(connect(groups)).rejects.toThrow(
      /^The setting as-groups of the kubeconfig is not supported$/,
    );
    expect(await connect(withUser('plain', { token: cluster.token, as: 'jane' }))).toMatchObject(connects());
  });
});

describe('a kubeconfig with a token file', () => {
  it('reads the current token, relative to the kubeconfig', async () => {
    service.write('rotated', cluster.token);
    await startWith(withUser('with-file', { tokenFile: 'rotated' }));
    await follows();
    cluster.rotateToken();
    cluster.endWatches();
    await fails(/\(401\)/);
    service.write('rotated', cluster.token);
    await follows();
  });

  it.each([
    ['is missing', 'none', 'ENOENT'],
    ['is empty', 'empty', 'it is empty'],
  ])('fails when the token file %s', async (_what, tokenFile, why) => {
    const empty = service.write('empty', '\n');
    const file = empty.replace(/empty$/, tokenFile);
    await expect(connect(withUser('with-file', { tokenFile }))).rejects.toThrow(
      new RegExp(`^Cannot read the token file ${file} of the kubeconfig: ${why}$`),
    );
  });
});

describe('a kubeconfig with an exec plugin', () => {
  const command = (name: string, text: string) => {
    const file = service.write(name, `#!/bin/sh\ncd "$(dirname "$0")"\n${text}\n`);
    chmodSync(file, 0o700);
    return file;
  };
  const withCommand = (exec: Document) =>
    withUser('with-command', { exec: { apiVersion: API_VERSION, interactiveMode: 'Never', ...exec } });
  const shows = (token: string) =>
    service.write(
      'credential.json',
      JSON.stringify({ apiVersion: API_VERSION, kind: 'ExecCredential', status: { token } }),
    );
  const runs = (name: string) => readFileSync(service.write('x', '').replace(/x$/, name), 'utf8').split('\n');

  it('does not quote what a helper of an auth provider printed', async () => {
    const helper = command('helper', `echo ${keepSecret('ya29.printed-token')}`);
    const config = { 'cmd-path': helper, 'token-key': '{.token}', 'expiry-key': '{.expiry}' };
    await startWith(withUser('with-helper', { 'auth-provider': { name: 'gcp', config } }));
    await fails(/^Cannot read the credentials for the cluster: they contain invalid data$/);
  });

  it('runs it relative to the kubeconfig with cluster info, and caches its credential until refused', async () => {
    shows(cluster.token);
    command('login', 'echo "$1 $REGION $KUBERNETES_EXEC_INFO" >> runs\ncat credential.json');
    const env = [{ name: 'REGION', value: 'north' }];
    await startWith(withCommand({ command: './login', args: ['token'], env, provideClusterInfo: true }));
    await follows();
    cluster.breakWatches();
    await follows();
    const [first = '', ...others] = runs('runs');
    expect(others).toEqual(['']);
    expect(first).toMatch(/^token north \{/);
    expect(JSON.parse(first.slice('token north '.length))).toEqual({
      apiVersion: API_VERSION,
      kind: 'ExecCredential',
      spec: {
        interactive: false,
        cluster: {
          server: server().server,
          'certificate-authority-data': Buffer.from(server().ca).toString('base64'),
        },
      },
    });
    cluster.rotateToken();
    shows(cluster.token);
    cluster.breakWatches();
    await follows();
    expect(runs('runs').length).toBeGreaterThan(2);
  });

  const RETURNED_NONE = /of the kubeconfig returned no credentials within 15 s: run it by hand to see why$/;
  it.each([
    ['is missing', './none', '', /none of the kubeconfig was not found$/],
    ['fails', './fails', 'echo hunter2 >&2; exit 3', RETURNED_NONE],
    ['prints no JSON', './text', 'echo hunter2', RETURNED_NONE],
    ['prints no credential', './other', `echo '{"status":{"clientKeyData":"hunter2"}}'`, RETURNED_NONE],
  ])('fails when the plugin %s, and quotes none of its output', async (_what, name, text, error) => {
    if (text !== '') command(name, text);
    const connecting = connect(withCommand({ command: name }));
    const sentence = await connecting.then(String, ({ message }: Error) => message);
    expect(sentence).toMatch(error);
    expect(sentence).not.toContain('hunter2');
  });
});
