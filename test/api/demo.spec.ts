import { spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { createServer, type AddressInfo } from 'node:net';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Demo, startDemo } from '../../demo/demo.js';
import { DEMO_USERS } from '../../demo/users.js';
import { call } from '../support/http.js';

const FOLDER = join(import.meta.dirname, '../../demo');

describe('the demo', () => {
  let demo: Demo;
  beforeAll(async () => {
    const configuration = join(FOLDER, 'registry.yaml');
    demo = await startDemo({ configuration, port: await freePort(), providerPort: 0 });
  });
  afterAll(() => demo.stop());

  const get = async (user: string, path: string) =>
    call(demo.origin + path, { headers: { Authorization: `Bearer ${await demo.tokenFor(user)}` } });

  it.each(DEMO_USERS.map(({ name }) => name))('has a token for %s that the server accepts', async (name) => {
    const reply = await get(name, '/v1/me');
    expect(reply.status).toBe(200);
    expect(reply.json).toMatchObject({ subject: name });
  });

  it('serves all of its entries', async () => {
    const reply = await get('ada', '/registry/acme/v0.1/servers?version=latest&limit=100');
    const { metadata } = reply.json as { metadata: { count: number } };
    expect(metadata.count).toBeGreaterThan(20);
  });

  it('asks for a token', async () => {
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

  it('is no matter elsewhere', () => {
    expect(start('development')).toMatchObject({ status: 0, stderr: '' });
  });
});

async function freePort(): Promise<number> {
  const server = createServer();
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const { port } = server.address() as AddressInfo;
  await new Promise((done) => server.close(done));
  return port;
}
