import { describe, expect, it } from 'vitest';
import { stringify } from 'yaml';
import { mergeKubeconfigs } from './kubeconfig-merge.js';

const file = (path: string, content: object) => ({ path, text: stringify(content) });
const user = (name: string, settings: object) => ({ users: [{ name, user: settings }] });
const cluster = (name: string, settings: object) => ({ clusters: [{ name, cluster: settings }] });
const context = (name: string, cluster: string) => ({ contexts: [{ name, context: { cluster } }] });

describe('several kubeconfigs', () => {
  const first = file('/one/config', {
    ...user('red', { token: 'first' }),
    ...cluster('pig', { server: 'https://first' }),
    ...context('froggy', 'pig'),
  });
  const second = file('/two/config', {
    users: [
      { name: 'red', user: { username: 'second', password: 'x' } },
      { name: 'green', user: { token: 'green' } },
    ],
    ...cluster('pig', { server: 'https://second', 'insecure-skip-tls-verify': true }),
    ...context('froggy', 'cow'),
    'current-context': 'froggy',
  });
  const third = file('/three/config', { ...context('last', 'pig'), 'current-context': 'last' });

  it('are merged: the first entry of a name and the first current context win', () => {
    expect(mergeKubeconfigs([first, second, third])).toEqual({
      users: [
        { name: 'red', user: { token: 'first' } },
        { name: 'green', user: { token: 'green' } },
      ],
      clusters: [{ name: 'pig', cluster: { server: 'https://first' } }],
      contexts: [
        { name: 'froggy', context: { cluster: 'pig' } },
        { name: 'last', context: { cluster: 'pig' } },
      ],
      'current-context': 'froggy',
    });
  });

  it('take precedence in their order', () => {
    expect(mergeKubeconfigs([second, first])).toMatchObject({
      users: [{ name: 'red', user: { username: 'second' } }, { name: 'green' }],
      clusters: [{ cluster: { server: 'https://second' } }],
    });
  });

  it.each([
    ['', {}],
    ['# nothing yet\n', {}],
    ['users: null\nclusters: nonsense\ncurrent-context: ""\n', {}],
    ['contexts: [null, 5, { name: a }]', { contexts: [{ name: 'a' }] }],
  ])('may be empty: %j', (text, entries) => {
    expect(mergeKubeconfigs([{ path: '/config', text }])).toEqual({
      users: [],
      clusters: [],
      contexts: [],
      ...entries,
    });
  });

  it.each(['- a', 'text', 'a: b: c', '{'])('are refused when one is not a map: %j', (text) =>
    expect(() => mergeKubeconfigs([first, { path: '/config', text }])).toThrow(
      'Cannot read the kubeconfig /config: it is not a kubeconfig',
    ),
  );
});

describe('the paths of a kubeconfig', () => {
  const merged = (settings: object) => mergeKubeconfigs([file('/etc/registry/config', settings)]);

  it.each<[object, object]>([
    [{ tokenFile: 'token' }, { tokenFile: '/etc/registry/token' }],
    [{ tokenFile: '../token' }, { tokenFile: '/etc/token' }],
    [{ tokenFile: '/run/token' }, { tokenFile: '/run/token' }],
    [
      { 'client-certificate': 'cert.pem', 'client-key': './key.pem' },
      { 'client-certificate': '/etc/registry/cert.pem', 'client-key': '/etc/registry/key.pem' },
    ],
    [
      { 'client-certificate': 'cert.pem', 'client-certificate-data': 'QQ==' },
      { 'client-certificate-data': 'QQ==' },
    ],
    [{ 'client-key': 'key.pem', 'client-key-data': 'QQ==' }, { 'client-key-data': 'QQ==' }],
    [
      { exec: { command: './login', args: ['a'] } },
      { exec: { command: '/etc/registry/login', args: ['a'] } },
    ],
    [{ exec: { command: 'bin/login' } }, { exec: { command: '/etc/registry/bin/login' } }],
    [{ exec: { command: '/bin/login' } }, { exec: { command: '/bin/login' } }],
    [{ exec: { command: 'login' } }, { exec: { command: 'login' } }],
    [{ token: 'a' }, { token: 'a' }],
  ])('of a user are relative to its directory: %j', (settings, expected) =>
    expect(merged(user('me', settings)).users).toEqual([{ name: 'me', user: expected }]),
  );

  it.each<[object, object]>([
    [{ 'certificate-authority': 'ca.pem' }, { 'certificate-authority': '/etc/registry/ca.pem' }],
    [
      { 'certificate-authority': 'ca.pem', 'certificate-authority-data': 'QQ==' },
      { 'certificate-authority-data': 'QQ==' },
    ],
    [
      { 'certificate-authority': 'ca.pem', 'certificate-authority-data': '' },
      { 'certificate-authority': '/etc/registry/ca.pem', 'certificate-authority-data': '' },
    ],
  ])('of a cluster are relative to its directory: %j', (settings, expected) =>
    expect(merged(cluster('it', settings)).clusters).toEqual([{ name: 'it', cluster: expected }]),
  );
});
