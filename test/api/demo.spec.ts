import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Demo, startDemo } from '../../demo/demo.js';
import { DEMO_USERS } from '../../demo/users.js';
import { welcome } from '../../demo/welcome.js';
import { freePort } from '../support/free-port.js';
import { call, type Reply } from '../support/http.js';
import { expectRefused } from '../support/matchers.js';

const FOLDER = join(import.meta.dirname, '../../demo');

describe('the demo', () => {
  let demo: Demo;
  beforeAll(async () => {
    const configuration = join(FOLDER, 'registry.yaml');
    const program = join(FOLDER, '../dist/main.js');
    demo = await startDemo({ configuration, program, port: await freePort(), providerPort: 0 });
  });
  afterAll(() => demo.stop());

  const get = async (user: string, path: string) =>
    call(demo.origin + path, { headers: { Authorization: `Bearer ${await demo.tokenFor(user)}` } });

  it.each(DEMO_USERS.map(({ name }) => name))(
    'issues a token for %s that the server accepts',
    async (name) => {
      const reply = await get(name, '/v1/me');
      expect(reply.status).toBe(200);
      expect(reply.json).toMatchObject({ subject: name });
    },
  );

  // The users as documented in users.ts.
  it.each([
    ['ada', ['community', 'company', 'data', 'platform']],
    ['max', ['community', 'company', 'data', 'platform']],
    ['pia', ['community', 'company', 'platform']],
    ['dev', ['community', 'company', 'data']],
  ])('shows %s the entries of %j', async (name, groups) => {
    const reply = await get(name, '/registry/acme/v0.1/servers?version=latest&limit=100');
    const { servers } = reply.json as { servers: { server: { name: string } }[] };
    const seen = new Set(servers.map(({ server }) => groupOf(server.name)));
    expect([...seen].sort()).toEqual(groups);
  });

  it('admits a user from another organization to the registry "community" only', async () => {
    expect((await get('ext', '/registry/community/v0.1/servers')).status).toBe(200);
    expectRefused(await get('ext', '/registry/acme/v0.1/servers'), 403, 'registry_forbidden');
  });

  it.each([
    ['ada', ['superAdmin']],
    ['max', ['manageSources', 'manageRegistries', 'manageEntries']],
    ['pia', ['manageEntries']],
    ['dev', []],
    ['ext', []],
  ])('grants %s the roles %j', async (name, roles) => {
    expect((await get(name, '/v1/me')).json).toMatchObject({ roles });
  });

  it('prints a curl line that publishes as pia, visible to her team only', async () => {
    const path = '/registry/acme/v0.1/servers/com.example.platform%2Fhello/versions/latest';
    expectRefused(await get('pia', path), 404, 'entry_not_found');
    const published = await pasted((await welcome(demo)).match(/curl -X POST .*/)?.[0] ?? '');
    expect(published.status).toBe(201);
    expect(published.json).toMatchObject({
      name: 'com.example.platform/hello',
      claims: { org: 'acme', team: 'platform' },
    });
    for (const user of ['ada', 'max', 'pia']) expect((await get(user, path)).status).toBe(200);
    expectRefused(await get('dev', path), 404, 'entry_not_found');
    expectRefused(await get('ext', path), 403, 'registry_forbidden');
  });

  it('returns 403 when dev, without a role, publishes the same', async () => {
    const line = (await welcome(demo)).match(/curl -X POST .*/)?.[0] ?? '';
    const byDev = line.replace(/Bearer [\w.-]+/, `Bearer ${await demo.tokenFor('dev')}`);
    expectRefused(await pasted(byDev), 403, 'role_required');
  });

  it('requires a token', async () => {
    const reply = await call(`${demo.origin}/registry`);
    expect(reply.status).toBe(401);
    expect(reply.headers['www-authenticate']).toContain(`resource_metadata="${demo.origin}/.well-known/`);
  });
});

describe('the demo in production', () => {
  const start = (NODE_ENV: string) =>
    spawnSync(process.execPath, [join(FOLDER, 'refuse-production.mjs')], {
      env: { ...process.env, NODE_ENV },
      encoding: 'utf8',
    });

  it('is refused with one sentence', () => {
    const { status, stdout, stderr } = start('production');
    expect({ status, stdout }).toEqual({ status: 1, stdout: '' });
    expect(stderr).toMatch(/^The demo does not run with NODE_ENV=production: .*\.\n$/);
  });

  it('starts with NODE_ENV=development', () => {
    expect(start('development')).toMatchObject({ status: 0, stderr: '' });
  });
});

/** Runs a printed curl line. */
function pasted(line: string): Promise<Reply> {
  const [authorization = '', type = '', body = '', url = ''] = [...line.matchAll(/'([^']*)'/g)].map(
    ([, text = '']) => text,
  );
  const headers = Object.fromEntries([authorization, type].map((header) => header.split(': ', 2)));
  return call(url, { method: /-X (\w+)/.exec(line)?.[1] ?? 'GET', headers, body });
}

/** The source of an entry according to the filters of registry.yaml. */
function groupOf(name: string): string {
  const [, team = 'community'] = /^com\.example\.(\w+)\//.exec(name) ?? [];
  return ['docs', 'payments', 'people'].includes(team) ? 'company' : team;
}
