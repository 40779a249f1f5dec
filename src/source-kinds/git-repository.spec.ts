import { describe, expect, it } from 'vitest';
import { isSameRepository, parseGitRepository, webAddressOf } from './git-repository.js';
import { GitSettings } from './kind-settings.dto.js';
import { checkShape } from '../validation/class-validation.js';

describe('a Git repository address', () => {
  it.each([
    ['https://git.example.com/acme/catalogue.git', { protocol: 'https' }],
    ['http://127.0.0.1:8080/a', { protocol: 'http' }],
    ['ssh://git@git.example.com/acme/a.git', { protocol: 'ssh', host: 'git.example.com', port: 22 }],
    ['ssh://git.example.com:2222/~me/a.git', { protocol: 'ssh', host: 'git.example.com', port: 2222 }],
    ['git@git.example.com:acme/a.git', { protocol: 'ssh', host: 'git.example.com', port: 22 }],
  ])('is valid: %s', (value, expected) => expect(parseGitRepository(value)).toMatchObject(expected));

  it.each([
    `ssh://git@x/${'a'.repeat(2_048)}`,
    'ext::sh -c true',
    'ext::true@x:y',
    'a@ext::true',
    'file:///srv/a.git',
    '/srv/a.git',
    '../a.git',
    'git://x/a.git',
    '--upload-pack=true',
    '-oProxyCommand=true@x:a',
    'git@-oProxyCommand=true:a',
    'ssh://-oProxyCommand=true/a',
    'ssh://-l@x/a',
    'ssh://git@x/a b',
    "ssh://git@x/a';true;'",
    'ssh://git@x/$(true)',
    'ssh://git:secret@x/a',
    'ssh://git@x:99999/a',
    'git@x:-a',
    'git@x:a\nb',
    'ssh://git@x/a?b',
    'https://u:p@x/a',
    'https://x/a?b',
    'https://x/a#b',
    'C:\\a.git',
    'c:/a.git',
    '',
    null,
    ['https://x/a'],
  ])('is invalid: %j', (value) => expect(parseGitRepository(value)).toBe(undefined));
});

describe('git.auth', () => {
  const auth = { username: 'a', passwordFile: 'b' };
  const sshAuth = { privateKeyFile: 'a', knownHostsFile: 'b' };
  const ssh = 'git@x:a.git';
  const http = 'https://x/a.git';
  const issues = (tree: object) =>
    checkShape(GitSettings, tree).issues.map(({ path, message }) => `${path.join('.')} ${message}`);

  it.each([
    [{ repository: http }, []],
    [{ repository: http, auth }, []],
    [{ repository: ssh, auth: sshAuth }, []],
    [{ repository: ssh }, ['auth is required for ssh, with privateKeyFile and knownHostsFile']],
    [
      { repository: ssh, auth: { ...auth, privateKeyFile: 'a' } },
      [
        'auth.knownHostsFile is required',
        'auth.username is not allowed for ssh',
        'auth.passwordFile is not allowed for ssh',
      ],
    ],
    [
      { repository: http, auth: { username: 'a', knownHostsFile: 'b' } },
      ['auth.passwordFile is required', 'auth.knownHostsFile is not allowed for http:// and https://'],
    ],
    [{ repository: ssh, auth: null }, ['auth must be a map, not nothing']],
  ])('of %j: %j', (tree, expected) => expect(issues(tree)).toEqual(expected));
});

describe('addresses', () => {
  it.each([
    ['https://git.acme.com/team/x', 'https://git.acme.com/team/x.git', true],
    ['https://git.acme.com/team/x/', 'https://GIT.acme.com/team/x', true],
    ['https://git.acme.com/team/x', 'git@git.acme.com:team/x.git', true],
    ['https://git.acme.com/team/x', 'https://git.acme.com:8443/team/x', false],
    ['https://git.acme.com/team/x', 'https://git.acme.com/team/xx', false],
    ['https://git.acme.com/team/x', 'https://git.acme.com/Team/x', false],
    ['https://git.acme.com/team/x', 'nonsense', false],
  ])('%s and %s refer to the same repository: %s', (one, other, same) =>
    expect(isSameRepository(one, other)).toBe(same),
  );

  it.each([
    ['git@git.acme.com:team/x.git', 'https://git.acme.com/team/x'],
    ['ssh://git@git.acme.com:2222/team/x', 'https://git.acme.com/team/x'],
    ['http://127.0.0.1:3000/acme.git', 'http://127.0.0.1:3000/acme.git'],
    ['nonsense', undefined],
  ])('%s as a web address', (address, url) => expect(webAddressOf(address)).toBe(url));
});
