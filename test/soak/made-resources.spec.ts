import { readFile } from 'node:fs/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { stringify } from 'yaml';
import { CONTOSO_ADMIN, SUPER_ADMIN } from '../support/callers.js';
import { Cli } from '../support/cli.js';
import { aDatabase, type TestDatabase } from '../support/database.js';
import { aFolder } from '../support/folder.js';
import { call } from '../support/http.js';
import { anIssuer } from '../support/issuer.js';
import { insertMany } from '../support/made-resources.js';

const KIB = 1024;

describe('1,000 sources and registries with long settings', () => {
  const issuer = anIssuer();
  const folder = aFolder();
  let database: TestDatabase;
  let file = '';
  let served: Cli;
  let origin = '';
  const start = async () => {
    served = Cli.serve(file, { NODE_OPTIONS: '--max-old-space-size=256' });
    origin = await served.origin();
  };
  beforeAll(async () => {
    database = await aDatabase();
    await issuer.start();
    const provider = { name: 'p', issuerUrl: issuer.iss, audience: issuer.audience, allowPrivateIP: true };
    const rules = { role: 'admin' };
    const configuration = {
      auth: {
        mode: 'oauth',
        oauth: { resourceUrl: 'https://registry.example.com', providers: [provider] },
        authz: {
          roles: { superAdmin: [{ role: 'super-admin' }], manageSources: [rules], manageRegistries: [rules] },
        },
      },
      database: database.connection,
      sources: [{ name: 'declared', managed: {} }],
      registries: [{ name: 'declared', sources: ['declared'] }],
    };
    file = folder.write('registry.yaml', stringify(configuration));
    await start();
    for (const what of ['source', 'registry'] as const)
      await insertMany(database, what, { prefix: 'made-', count: 1_000, org: 'acme', filler: 30 * KIB });
    await database.query(
      `insert into registry_source (registry_id, position, source_id)
       select r.id, row_number() over (order by s.id), s.id from registry r, source s
       where r.name = 'made-1' and s.name <> 'declared'`,
    );
  });
  afterAll(async () => {
    served.child.kill('SIGTERM');
    await served.finished;
    await issuer.stop();
    await database.drop();
  });
  const ask = (claims: Record<string, unknown>, path: string) =>
    call(origin + path, { headers: { Authorization: `Bearer ${issuer.sign(claims)}` } });

  const peakMiB = async () => {
    const status = await readFile(`/proc/${served.child.pid}/status`, 'utf8');
    return Number(/VmHWM:\s+(\d+)/.exec(status)?.[1]) / KIB;
  };

  it('do not exhaust a heap of 256 MiB under any concurrent requests about them', async () => {
    const lists = ['/v1/sources', '/v1/registries', '/registry'];
    const one = ['/v1/registries/made-1', '/registry/made-1/v0.1/servers'];
    const asked = Array.from({ length: 5 }, () => [
      ...lists.map((path) => ask(CONTOSO_ADMIN, path)),
      ...[...lists, ...one].map((path) => ask(SUPER_ADMIN, path)),
    ]).flat();
    const replies = await Promise.all(asked);
    expect(replies.map(({ status }) => status)).toEqual(replies.map(() => 200));
    expect((await ask(CONTOSO_ADMIN, '/v1/sources')).json).toMatchObject({ metadata: { count: 1 } });
    expect(await peakMiB()).toBeLessThan(400);
  });

  it('do not stop a start at which all of them are due', async () => {
    served.child.kill('SIGTERM');
    await served.finished;
    await database.query(
      `update source_sync set next_run_at = now(), status = 'pending', last_success_at = null, last_attempt_at = null`,
    );
    await start();
    expect((await ask(SUPER_ADMIN, '/v1/registries/made-1')).status).toBe(200);
    const attempted = async () => {
      const [row] = await database.query<{ count: string }>(
        `select count(*) from source_sync where last_attempt_at is not null`,
      );
      return Number(row?.count);
    };
    await expect.poll(attempted).toBeGreaterThan(100);
    expect(await peakMiB()).toBeLessThan(400);
  });
});
