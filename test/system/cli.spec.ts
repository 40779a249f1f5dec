import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from 'vitest';
import { check } from '../../dist/cli/check.js';
import { dump } from '../../dist/cli/dump.js';
import { explain } from '../../dist/cli/explain.js';
import { type DownOptions, migrate, type MigrateAction } from '../../dist/cli/migrate.js';
import { policy } from '../../dist/cli/policy.js';
import { migrations } from '../../dist/migrations/index.js';
import { Cli, printed } from '../support/cli.js';
import { aDatabase, type TestDatabase } from '../support/database.js';
import { aCatalogue, aServer } from '../support/documents.js';
import { call, callWith } from '../support/http.js';

let folder = '';
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'registry-cli-'));
  await writeFile(join(folder, 'catalog.json'), JSON.stringify(aCatalogue([aServer('io.acme/a')])));
});
afterAll(() => rm(folder, { recursive: true, force: true }));

async function file(text: string): Promise<string> {
  const path = join(folder, 'registry.yaml');
  await writeFile(path, text);
  return path;
}

const GOOD = `auth: { mode: anonymous }
sources:
  - { name: catalog, file: { path: catalog.json }, syncPolicy: { interval: 30m } }
registries:
  - { name: main, sources: [catalog] }
`;

const UNREACHABLE_DATABASE = '\ndatabase: { host: localhost, port: 1, user: registry, database: registry }\n';

/** Creates a role that may create tables, and one that may not. */
async function ownerAndApp({ database, query }: TestDatabase): Promise<{ owner: string; app: string }> {
  const [owner, app] = [`owner_${database}`, `app_${database}`];
  await query(`create role ${owner} login; create role ${app} login`);
  // PostgreSQL 14 grants it to every role.
  await query(`revoke create on schema public from public; grant create on schema public to ${owner}`);
  return { owner, app };
}

const PROVIDERS = ['corporate', 'partner']
  .map((name) => `{ name: ${name}, issuerUrl: 'https://${name}.example', audience: registry }`)
  .join(', ');

/** Role rules in anonymous mode, and a filter on a managed source. */
const WITHOUT_EFFECT = GOOD.replace(
  'mode: anonymous',
  'mode: anonymous, authz: { roles: { superAdmin: [{ role: admin }] } }',
).replace(
  'sources:',
  'sources:\n  - { name: made, managed: {}, filter: { names: { include: [com.acme/*] } } }',
);

/** Contains a key of the ToolHive registry server. */
const TOOLHIVE = GOOD.concat(
  'database: { host: db, port: 5432, user: app, database: registry, password: hunter2, maxOpenConns: 25 }\n',
);

/** Several identity providers, and one rule for super-admins. */
const withSuperAdminRule = (rule: string) =>
  GOOD.replace(
    'mode: anonymous',
    `oauth: { resourceUrl: 'https://registry.example.com', providers: [${PROVIDERS}] }, authz: { roles: { superAdmin: [${rule}] } }`,
  ).replace('{ name: catalog,', '{ name: catalog, claims: { iss: https://corporate.example },');

/** A further registry with anonymous access. */
const OPEN = '  - { name: open, sources: [catalog], anonymous: { claims: { audience: ide } } }\n';

it('a command whose output is piped to a program that ends early still finishes', async () => {
  const cli = new Cli(['check', '--config', await file(GOOD)]);
  cli.child.stdout?.destroy();
  expect(await cli.finished).toEqual({ code: 0, output: '' });
});

describe('check', () => {
  const checked = async (text: string) => {
    const config = await file(text);
    return printed(() => check(config, {}));
  };
  afterEach(() => void vi.unstubAllEnvs());

  it('reports a valid configuration', async () => {
    const { code, output } = await checked(GOOD);
    expect({ code, output }).toMatchObject({
      code: 0,
      output: expect.stringContaining('is valid: anonymous mode, sources: 1'),
    });
    expect(output).not.toContain('warning');
  });

  it('prints the claims and roles each provider can yield, and the proxy in use', async () => {
    const claims = 'claims: [{ from: /team, to: team }, { from: /role, to: role, values: { w: writer } }]';
    const mapped = withSuperAdminRule('{ role: admin }').replace(
      "'https://partner.example',",
      `'https://partner.example', ${claims},`,
    );
    vi.stubEnv('HTTPS_PROXY', 'http://me:the-password@proxy.example:3128');
    vi.stubEnv('NO_PROXY', 'partner.example');
    const { code, output } = await checked(mapped);
    expect(code).toBe(0);
    expect(output).toContain('\nprovider corporate: claims: any; roles: superAdmin\n');
    expect(output).toContain('\nprovider partner: claims: iss, sub, team, role; roles: none\n');
    expect(output).toMatch(
      /^proxy: requests to https:\/\/ URLs use http:\/\/proxy\.example:3128, except for partner\.example;/m,
    );
    expect(output).not.toContain('warning');
    expect(output).not.toContain('the-password');
  });

  it('warns about roles that several providers could grant, and lists anonymous registries', async () => {
    const warned = await checked(withSuperAdminRule('{ role: admin }') + OPEN);
    expect(warned.code).toBe(0);
    expect(warned.output).toMatch(
      /^warning: .*corporate, partner.* auth\.authz\.roles\.superAdmin\[0\]\. Add iss/m,
    );
    const fine = await checked(withSuperAdminRule('{ role: admin, iss: https://corporate.example }') + OPEN);
    expect(fine.code).toBe(0);
    expect(fine.output).not.toContain('warning');
    expect(fine.output).toMatch(
      /^registry open is readable without a token, with the claims \{"audience":"ide"\}$/m,
    );
  });

  it('warns about settings without effect', async () => {
    const { code, output } = await checked(WITHOUT_EFFECT);
    expect(code).toBe(0);
    expect(output).toMatch(/^warning: auth\.authz: has no effect in anonymous mode/m);
    expect(output).toMatch(/^warning: sources\[0\]\.filter \(made\): has no effect/m);
  });

  it('recognizes a configuration of the ToolHive registry server', async () => {
    const foreign = await checked(TOOLHIVE);
    expect(foreign.code).toBe(1);
    expect(foreign.output).toMatch(
      /registry\.yaml: looks like the configuration of a ToolHive registry server: docs\/migrating\.md .*\n.*database\.maxOpenConns: is database\.pool\.max here \(line 6\)/,
    );
    expect(foreign.output).not.toContain('hunter2');
  });

  it('lists every problem with its path and line, and exits 1', async () => {
    const bad = GOOD.replace('30m', 'often').replace('[catalog]', '[nobody]').concat('colour: blue\n');
    const { code, output } = await checked(bad);
    expect(code).toBe(1);
    expect(output).toMatch(/sources\[0\]\.syncPolicy\.interval: .*\(line 3\)/);
    expect(output).toMatch(/registries\[0\]\.sources\[0\]: .*\(line 5\)/);
    expect(output).toMatch(/colour: .*\(line 6\)/);
  });
});

describe('serve', () => {
  const serving = (config: string, address = '127.0.0.1:0', environment = {}) => {
    const addresses = ['--address', address, '--internal-address', '127.0.0.1:0'];
    return new Cli(['serve', '--config', config, ...addresses], environment);
  };

  it('exits 1 and writes nothing when the configuration is invalid', async () => {
    const data = join(folder, 'never');
    const bad = await file(TOOLHIVE.replace('anonymous', 'nobody'));
    const { code, output } = await new Cli(['serve', '--config', bad], { REGISTRY_DATA_DIR: data }).finished;
    expect(code).toBe(1);
    expect(output).toMatch(/auth\.mode: .*line 1/);
    expect(output).toContain('looks like the configuration of a ToolHive registry server');
    await expect(rm(data, { recursive: true })).rejects.toMatchObject({ code: 'ENOENT' });
  });

  it.each([
    ['--config /nowhere/registry.yaml', /\/nowhere\/registry\.yaml/],
    ['', /required option '--config <file>'/],
  ])('exits 1 with a message for serve %s', async (args, why) => {
    const { code, output } = await new Cli(['serve', ...args.split(' ').filter(Boolean)]).finished;
    expect(code).toBe(1);
    expect(output).toMatch(why);
    expect(output).not.toMatch(/ at .*\.js:\d+/);
  });

  it('warns about settings without effect, and waits for an unreachable database', async () => {
    const waiting = serving(await file(WITHOUT_EFFECT.concat(UNREACHABLE_DATABASE)));
    const log = await waiting.logs('waiting for it');
    expect(log).toMatch(/"warn".*auth\.authz: has no effect in anonymous mode/);
    expect(log).toMatch(/"warn".*sources\[0\]\.filter \(made\): has no effect/);
    expect(log).toMatch(/localhost:1 is not reachable yet, waiting for it: connect ECONNREFUSED \S+:1\b/);
    waiting.child.kill('SIGTERM');
    expect((await waiting.finished).code).toBe(0);
  });

  it('reports a port that is in use', async () => {
    const database = await aDatabase();
    const text = `${GOOD}database: ${JSON.stringify(database.connection)}\n`;
    const config = await file(text);
    const environment = { REGISTRY_LOG_FORMAT: 'text', REGISTRY_SHUTDOWN_NOTICE: '10s' };
    const first = serving(config, undefined, environment);
    // The text format, for terminals.
    const ready = await first.logs('metrics at http');
    expect(ready).toMatch(/INFO: Ready: registries at \S+\/registry, documentation at \S+\/docs, metrics at/);
    expect(ready).not.toContain('"level"');
    const taken = /127\.0\.0\.1:(\d+)\/registry/.exec(ready)?.[1];
    const sentence = `Port ${taken} is already in use`;
    const second = await serving(config, `127.0.0.1:${taken}`).finished;
    expect(second.code).toBe(1);
    const [last = ''] = second.output.trim().split('\n').slice(-1);
    expect(JSON.parse(last)).toMatchObject({ level: 'fatal', msg: expect.stringContaining(sentence) });
    first.child.kill('SIGTERM');
    await first.logs('SIGTERM: stopping, accepting new requests for 10 s');
    expect((await call(`http://127.0.0.1:${taken}/registry`)).headers['connection']).toBe('close');
    expect((await first.finished).code).toBe(0);
    await database.drop();
  });
});

describe('lazy loading', () => {
  it('loads the Kubernetes client and the MCP SDK on first use', async () => {
    const database = await aDatabase();
    const config = await file(
      `${GOOD}adminKubernetesNamespaces: [tools]\ndatabase: ${JSON.stringify(database.connection)}\n`,
    );
    const hooks = new URL('../support/loaded-modules.mjs', import.meta.url).href;
    const served = Cli.serve(config, { NODE_OPTIONS: `--import ${hooks}` });
    const origin = await served.origin();
    expect(served.output).not.toContain('loads ');
    const body = { kubernetes: { namespaces: ['tools'] } };
    expect((await callWith(`${origin}/v1/sources/pods`, 'PUT', { body })).status).toBe(201);
    await served.logs('loads the Kubernetes client');
    expect(served.output).not.toContain('loads the MCP SDK');
    const message = { jsonrpc: '2.0', id: 1, method: 'tools/list' };
    const post = () => callWith(`${origin}/registry/main/mcp`, 'POST', { body: message });
    for (const reply of await Promise.all([post(), post()])) expect(reply.text).toContain('search_servers');
    await served.logs('loads the MCP SDK');
    served.child.kill('SIGTERM');
    expect((await served.finished).code).toBe(0);
    await database.drop();
  });
});

describe('migrate', () => {
  const here = async (config: string, action: MigrateAction, options: Partial<DownOptions> = {}) => {
    const { code, output } = await printed(() =>
      migrate(action, config, { steps: 1, yes: false, destructive: false, ...options }),
    );
    return `${code}: ${output}`;
  };

  it('applies, lists and reverts migrations', async () => {
    const database = await aDatabase({ migrated: false });
    const text = `${GOOD}database: ${JSON.stringify(database.connection)}\n`;
    const config = await file(text);
    const run = async (action: string, ...flags: string[]) =>
      (await new Cli(['migrate', action, '--config', config, ...flags]).finished).output;
    const tables = async () =>
      (
        await database.query(
          `select 1 from pg_tables where schemaname = 'public' and tablename <> 'schema_migration'`,
        )
      ).length;
    const names = migrations.map(({ name }) => name);
    const states = (state: string) => names.map((name) => `${state}  ${name}\n`).join('');
    expect(await run('status')).toBe(states('pending'));
    expect(await run('up')).toBe(names.map((name) => `applied ${name}\n`).join(''));
    expect(await tables()).toBeGreaterThan(0);
    expect(await here(config, 'up')).toMatch(/^0: .*nothing to apply/);
    expect(await here(config, 'status')).toBe(`0: ${states('applied')}`);
    const all = `${names.length}`;
    expect(await run('down', '--steps', all, '--yes', '--destructive')).toBe(
      names
        .map((name) => `reverted ${name}\n`)
        .toReversed()
        .join(''),
    );
    expect(await here(config, 'status')).toBe(`0: ${states('pending')}`);
    expect(await tables()).toBe(0);
    expect(await here(config, 'down', { yes: true })).toBe('0: nothing to revert\n');
    expect(await run('sideways')).toMatch(/must be up, down or status/);
    await database.drop();
  });

  it('down needs --yes, and --destructive if data would be lost; unknown migrations stop up and down', async () => {
    const database = await aDatabase();
    const config = await file(`${GOOD}database: ${JSON.stringify(database.connection)}\n`);
    const applied = async () =>
      (await here(config, 'status')).split('\n').filter((line) => line.includes('applied ')).length;
    expect(await here(config, 'down', { destructive: true })).toBe(
      '1: migrate down: nothing was reverted, because there is no terminal to confirm it; pass --yes\n',
    );
    expect(await here(config, 'down', { yes: true, steps: 99 })).toMatch(
      /^1: migrate down: nothing was reverted, because data would be lost: .*InitialSchema\w* \(all sources.*Pass --destructive to allow it$/m,
    );
    expect(await applied()).toBe(migrations.length);
    await database.query(
      `insert into schema_migration (timestamp, name) values (9999999999999, 'Newer9999999999999')`,
    );
    expect(await here(config, 'status')).toMatch(/\nunknown {2}Newer9999999999999\n$/);
    for (const action of ['up', 'down'] as const)
      expect(await here(config, action, { yes: true })).toMatch(
        /^1: (?=.*Newer9999999999999).*newer version/,
      );
    await database.drop();
  });

  it('runs as migrationUser, and grants the other role access', async () => {
    const database = await aDatabase({ migrated: false });
    const { host, port } = database;
    const { owner, app } = await ownerAndApp(database);
    const connection = { host, port, user: app, database: database.database, migrationUser: owner };
    const config = await file(`${GOOD}database: ${JSON.stringify(connection)}\n`);
    const serving = Cli.serve(config);
    await serving.logs('"Ready"');
    serving.child.kill('SIGTERM');
    expect((await serving.finished).code).toBe(0);
    const owners = await database.query(
      `select distinct tableowner from pg_tables where schemaname = 'public'`,
    );
    expect(owners).toEqual([{ tableowner: owner }]);
    const { output } = await new Cli(['migrate', 'down', '--yes', '--destructive', '--config', config])
      .finished;
    expect(output).toMatch(/^reverted/);
    await database.query(`drop owned by ${owner}, ${app}; drop role ${owner}; drop role ${app}`);
    await database.drop();
  });

  it('can run in a job that alone has migrationUser; the server then needs no CREATE privilege', async () => {
    const database = await aDatabase({ migrated: false });
    const { host, port } = database;
    const { owner, app } = await ownerAndApp(database);
    const connection = { host, port, user: app, database: database.database };
    const config = await file(`${GOOD}database: ${JSON.stringify(connection)}\n`);
    const asOwner = { REGISTRY_DATABASE_MIGRATION_USER: owner };
    // The chart's replicas wait while this fails or lists a pending migration.
    expect(await here(config, 'status')).toMatch(/^0: (pending .*\n)+$/);
    expect(await here(config, 'up')).toMatch(/^1: .*database\.migrationUser/);
    expect((await new Cli(['migrate', 'up', '--config', config], asOwner).finished).code).toBe(0);
    expect(await here(config, 'status')).toMatch(/^0: (applied .*\n)+$/);
    const serving = Cli.serve(config);
    await serving.logs('"Ready"');
    serving.child.kill('SIGTERM');
    expect((await serving.finished).code).toBe(0);
    await database.query(`drop owned by ${owner}, ${app}; drop role ${owner}; drop role ${app}`);
    await database.drop();
  });
});

it('every command refuses a database of an earlier build, and changes nothing in it', async () => {
  const [old, other] = [await aDatabase({ migrated: false }), await aDatabase()];
  await old.query(
    `create table schema_migration (id serial primary key, timestamp bigint not null, name text not null);
     insert into schema_migration (timestamp, name) values (1795780800000, 'InitialSchema1795780800000')`,
  );
  const state = () =>
    old.query(`select c.relname, m.*, m.xmin::text from pg_class c, schema_migration m
       where c.relnamespace = 'public'::regnamespace order by 1`);
  const before = await state();
  const config = await file(`${GOOD}database: ${JSON.stringify(old.connection)}\n`);
  const teams = join(folder, 'teams.json');
  await writeFile(teams, JSON.stringify({ teams: [] }));
  const urlOf = ({ user, host, port, database }: TestDatabase) =>
    `postgres://${user}@${encodeURIComponent(host)}:${port}/${database}`;
  const refused =
    'The database was written by an earlier build, and this version cannot upgrade it: publish its entries again into a new ' +
    'database (docs/upgrading.md), or run that build';
  const options = { steps: 1, yes: true, destructive: true };
  for (const action of ['up', 'down', 'status'] as const)
    expect(await printed(() => migrate(action, config, options))).toEqual({
      code: 1,
      output: `migrate ${action}: ${refused}\n`,
    });
  expect(await printed(() => dump(config, urlOf(other)))).toEqual({ code: 1, output: `dump: ${refused}\n` });
  expect(await printed(() => policy({ config, teams, out: join(folder, 'policy') }))).toEqual({
    code: 2,
    output: `policy: ${refused}\n`,
  });
  expect(await printed(() => check(config, {}, { online: true }))).toMatchObject({
    code: 1,
    output: expect.stringContaining(`database: FAILED (${refused})`) as string,
  });
  expect((await printed(() => explain({ config, registry: 'main', anonymous: true }))).output).toContain(
    `without the database (${refused})`,
  );
  const serving = await Cli.serve(config).finished;
  expect(serving).toMatchObject({ code: 1, output: expect.stringContaining(refused) as string });
  const newer = await file(`${GOOD}database: ${JSON.stringify(other.connection)}\n`);
  expect(await printed(() => dump(newer, urlOf(old)))).toEqual({ code: 1, output: `dump: ${refused}\n` });
  expect(await state()).toEqual(before);
  await Promise.all([old.drop(), other.drop()]);
});
