import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeAll, describe, expect, it } from 'vitest';
import type { SettingsOf } from '../../dist/source-kinds/kinds.js';
import type { GitConnection } from '../../dist/git/git-connection.js';
import { GitRemote } from '../../dist/git/git-remote.js';
import { makeCertificates } from '../support/certificates.js';
import { connectionTo, registryFileIn } from '../support/git-connections.js';
import { aGitServer } from '../support/git-server.js';
import { aFileOf, aTemporaryDirectory } from '../support/git-service.js';
import { keepSecret } from '../support/secrets.js';

const leftovers = aTemporaryDirectory();
const own = (name: string) => join(process.env['TMPDIR'] ?? '', name);

async function readFrom(
  settings: SettingsOf<'git'>,
  change: (way: GitConnection) => GitConnection = (way) => way,
): Promise<string> {
  const way = change(await connectionTo(settings, 'config'));
  const remote = await GitRemote.open(way, new AbortController().signal);
  try {
    return await registryFileIn(remote, settings);
  } finally {
    await remote.close();
  }
}

describe('a repository behind TLS with a private CA', () => {
  const certificates = makeCertificates();
  const git = aGitServer().secure(certificates).runs();
  beforeAll(async () => {
    await git.repository('acme').commit({ 'registry.json': aFileOf('one') });
  });
  afterEach(() => void delete process.env['NODE_EXTRA_CA_CERTS']);

  it('is not trusted', async () => {
    await expect(readFrom({ repository: git.url('acme') })).rejects.toThrow(/TLS certificate is not trusted/);
  });

  it('is trusted with NODE_EXTRA_CA_CERTS', async () => {
    writeFileSync(own('ca.pem'), certificates.ca);
    process.env['NODE_EXTRA_CA_CERTS'] = own('ca.pem');
    expect(await readFrom({ repository: git.url('acme') })).toBe(aFileOf('one'));
  });
});

// A fake ssh that records its arguments and runs the remote command locally.
const FAKE_SSH = `#!/bin/sh
printf '%s\\n' "$@" > "$0.arguments"
cat ssh_config > "$0.config"
cat key known_hosts > "$0.files"
ls -l key ssh_config | cut -c 1-10 > "$0.modes"
unset GIT_DIR
for command; do :; done
eval "exec $command"
`;

describe('a repository over ssh', () => {
  const git = aGitServer().runs();
  const repository = git.repository('acme');
  const key = keepSecret('-----BEGIN OPENSSH PRIVATE KEY-----\nbase64\n-----END OPENSSH PRIVATE KEY-----');
  const settings = (url: string): SettingsOf<'git'> => ({
    repository: url,
    auth: { privateKeyFile: own('id'), knownHostsFile: own('hosts') },
  });
  const withFakeSsh = (way: GitConnection) => ({ ...way, path: `${own('bin')}:${way.path}` });
  const noted = (what: string) => readFileSync(own(`bin/ssh.${what}`), 'utf8');
  beforeAll(async () => {
    await repository.commit({ 'registry.json': aFileOf('one') });
    mkdirSync(own('bin'));
    writeFileSync(own('bin/ssh'), FAKE_SSH, { mode: 0o755 });
    writeFileSync(own('id'), key);
    writeFileSync(own('hosts'), 'git.example ssh-ed25519 AAAA');
  });

  it('is read with the key, without any part of it on the command line', async () => {
    const url = `ssh://git@git.example:2222${repository.directory}`;
    expect(await readFrom(settings(url), withFakeSsh)).toBe(aFileOf('one'));
    expect(noted('arguments')).toBe(
      [
        '-F',
        'ssh_config',
        '-E',
        'ssh_log',
        '-o',
        'SendEnv=GIT_PROTOCOL',
        '-p',
        '2222',
        'git@git.example',
      ].join('\n') + `\ngit-upload-pack '${repository.directory}'\n`,
    );
    expect(noted('files')).toBe(`${key}\ngit.example ssh-ed25519 AAAA\n`);
    expect(noted('modes')).toBe('-rw-------\n-rw-------\n');
    expect(noted('config')).toMatch(/^StrictHostKeyChecking yes$/m);
    expect(noted('config')).not.toMatch(/HostName/);
    await expect.poll(leftovers).toEqual([]);
  });

  it('may use the scp-like form', async () => {
    expect(await readFrom(settings(`git@git.example:${repository.directory}`), withFakeSsh)).toBe(
      aFileOf('one'),
    );
  });

  it('is contacted at the address that was checked when the source was created through the API', async () => {
    const publicly = (repository: string) =>
      connectionTo(settings(repository), 'api', {
        adminFileRoots: [{ path: own('.'), claims: {}, hosts: null }],
        resolve: (_host, done) => done(null, [{ address: '93.184.216.34', family: 4 }]),
      });
    const { files } = await publicly('ssh://git@git.example:2222/a');
    expect(files['ssh_config']).toMatch(/^HostName 93\.184\.216\.34\nHostKeyAlias \[git\.example\]:2222$/m);
    await expect(publicly('git@127.0.0.1:a')).rejects.toThrow(/private address/);
    await expect(publicly('git@0x7f.1:a')).rejects.toThrow(/private address/);
  });

  it.each([
    ['Host key verification failed.', /its host key is not the one in git\.auth\.knownHostsFile$/],
    ['git@git.example: Permission denied (publickey).', /the key was refused or is unusable/],
  ])('reports errors from ssh itself, and quotes the server: %s', async (said, why) => {
    const fails = (to: string) => {
      writeFileSync(own('bin/ssh'), `#!/bin/sh\necho '${said}' ${to}\nexit 255\n`, { mode: 0o755 });
      return expect(readFrom(settings('git@git.example:a'), withFakeSsh)).rejects;
    };
    await fails('> ssh_log').toThrow(why);
    await fails('>&2').toThrow(`git@git.example:a: the server said: ${said}`);
  });
});
