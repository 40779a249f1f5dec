import { describe, expect, it } from 'vitest';
import { SUPER_ADMIN } from '../support/callers.js';
import { aServer } from '../support/documents.js';
import { aFolder } from '../support/folder.js';
import { aKey } from '../support/registry-keys.js';
import { aService } from '../support/service.js';
import { within } from '../support/within.js';

describe('the paths of secret files', () => {
  const secrets = aFolder();
  const made = aFolder();
  const token = made.write('token', 'a-token');
  const key = made.write('key', aKey());
  const repository = 'http://127.0.0.1:9/acme.git';
  const endpoint = 'http://127.0.0.1:9';
  const service = aService({ mode: 'full' })
    .source('tools', { servers: [aServer('io.acme/tool')] })
    .source('upstream', { kind: 'api', settings: { endpoint, tokenFile: secrets.write('token', 'a-token') } })
    .source('repository', {
      kind: 'git',
      settings: {
        repository,
        auth: { username: 'reader', passwordFile: secrets.write('password', 'secret-word') },
      },
    })
    .source('ssh', {
      kind: 'git',
      settings: {
        repository: 'git@127.0.0.1:acme',
        auth: {
          privateKeyFile: secrets.write('id', 'a-key'),
          knownHostsFile: secrets.write('known-hosts', 'a-host'),
        },
      },
    })
    .registry('ide', {
      sources: ['tools'],
      keys: [{ name: 'copilot', secretFile: secrets.write('key', aKey()), claims: { org: 'acme' } }],
    })
    .configuration({ adminFileRoot: made.path, adminOpenAccess: true })
    .runs();
  const admin = () => service.as(SUPER_ADMIN);

  it('in the configuration file never appear in responses, sync errors or audit events', async () => {
    for (const name of ['token', 'password', 'id']) secrets.write(name, '');
    for (const name of ['upstream', 'repository', 'ssh']) await service.synced(name);
    const answers: string[] = [];
    for (const path of [
      '/v1/sources',
      '/v1/sources/upstream',
      '/v1/sources/repository',
      '/v1/sources/ssh',
      '/v1/registries',
      '/v1/registries/ide',
      '/v1/audit?limit=1000',
    ])
      answers.push((await admin().get(path)).text);
    for (const text of answers) expect(text).not.toContain(secrets.path);
    expect((await admin().get('/v1/sources/repository')).json).toMatchObject({
      git: { repository, auth: { username: 'reader' } },
      sync: { error: 'git.auth.passwordFile is empty' },
    });
    expect((await admin().get('/v1/sources/upstream')).json).toMatchObject({
      api: { endpoint },
      sync: { error: 'the token file api.tokenFile does not contain a bearer token' },
    });
    expect((await admin().get('/v1/registries/ide')).json).toMatchObject({
      keys: [{ name: 'copilot', claims: { org: 'acme' } }],
    });
    // The operator's log contains the file's path.
    await within(20_000, () =>
      expect(JSON.stringify(service.logs())).toContain(`${secrets.path}/password is empty`),
    );
  });

  it('of sources and registries created through the API are returned, so that a PUT can repeat the GET', async () => {
    const source = { api: { endpoint, tokenFile: token }, syncPolicy: { interval: '1h' }, claims: {} };
    const keys = [{ name: 'made', secretFile: key, claims: { org: 'acme' } }];
    for (const [path, body, shown] of [
      ['/v1/sources/made', source, { api: { tokenFile: token } }],
      ['/v1/registries/made', { sources: ['tools'], keys }, { keys }],
    ] as const) {
      expect((await admin().put(path, body)).status).toBe(201);
      const { json } = await admin().get(path);
      expect(json).toMatchObject(shown);
      expect((await admin().put(path, json)).status).toBe(200);
    }
  });
});
