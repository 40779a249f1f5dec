import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { stringify } from 'yaml';
import { type AccessChecks, check as checkConfiguration } from '../../dist/cli/check.js';
import { explain } from '../../dist/cli/explain.js';
import { Cli, printed } from '../support/cli.js';
import { aDatabase } from '../support/database.js';
import { aCatalogue, aServer } from '../support/documents.js';
import { aFolder } from '../support/folder.js';

const folder = aFolder();
const path = (name: string) => join(folder.path, name);
/** Runs the CLI in its own process. */
const run = (...args: string[]) => new Cli(args).finished;

interface Edit {
  catalogClaims?: object;
  gate?: object;
  admin?: string;
  database?: object;
}

function configure(
  name: string,
  { catalogClaims = { org: 'acme' }, gate, admin = 'admin', database }: Edit = {},
) {
  const provider = { name: 'corporate', issuerUrl: 'https://idp.example', audience: 'registry' };
  const configuration = {
    auth: {
      oauth: { resourceUrl: 'https://registry.example.com', providers: [provider] },
      authz: { roles: { superAdmin: [{ role: 'root' }], manageSources: [{ role: admin }] } },
    },
    sources: [
      { name: 'team', file: { path: 'team.json' }, claims: { org: 'acme', team: ['platform', 'data'] } },
      { name: 'catalog', file: { path: 'catalog.json' }, claims: catalogClaims },
      { name: 'mirror', api: { endpoint: 'https://mirror.example' }, claims: { org: 'contoso' } },
    ].map((source) => ({ ...source, syncPolicy: { interval: '1h' } })),
    registries: [
      { name: 'default', sources: ['team', 'catalog'], claims: gate ?? { org: 'acme' } },
      { name: 'mirrored', sources: ['mirror'] },
    ],
    ...(database ? { database } : {}),
  };
  writeFileSync(path(name), stringify(configuration));
  return path(name);
}

beforeAll(() => {
  writeFileSync(path('team.json'), JSON.stringify(aCatalogue([aServer('io.acme/deploy')])));
  writeFileSync(
    path('catalog.json'),
    JSON.stringify(aCatalogue([aServer('io.acme/mail'), aServer('io.acme/wiki')])),
  );
});

describe('explain', () => {
  const ask = (claims: string, entry?: string) =>
    printed(() =>
      explain({
        config: configure('registry.yaml'),
        claims,
        registry: 'default',
        ...(entry === undefined ? {} : { entry }),
      }),
    );

  it('exits 0 for a shown entry, and 1 with the missing claims for a hidden one', async () => {
    const shown = await ask('{"org":"acme"}', 'io.acme/mail');
    const hidden = await ask('{"org":"acme","team":"data"}', 'io.acme/deploy');
    const refused = await ask('{"org":"contoso"}');
    expect(shown).toMatchObject({ code: 0, output: expect.stringMatching(/^shown \(200\)/) });
    expect(hidden.code).toBe(1);
    expect(hidden.output).toMatch(/^hidden \(404 entry_not_found\)/);
    expect(hidden.output).toContain(
      'entry     refused  source team; requires org is acme and team is both platform and data; missing: team=platform',
    );
    expect(refused).toMatchObject({ code: 1, output: expect.stringContaining('missing: org=acme') });
  });

  it('exits with 2 for a usage error', async () => {
    const [noJson, noRegistry] = await Promise.all([
      run('explain', '--config', configure('registry.yaml'), '--claims', 'org=acme', '--registry', 'default'),
      run('explain', '--config', configure('registry.yaml'), '--claims', '{}'),
    ]);
    const noFile = await printed(() =>
      explain({ config: path('nowhere.yaml'), claims: '{}', registry: 'default' }),
    );
    expect([noJson.code, noRegistry.code, noFile.code]).toEqual([2, 2, 2]);
    expect(noJson.output).toContain('--claims must be a JSON object');
  });
});

describe('check --access', () => {
  const check = (expectations: unknown, more: AccessChecks = {}) => {
    writeFileSync(path('access.yaml'), stringify(expectations));
    const checks = { access: path('access.yaml'), ...more };
    return printed(() => checkConfiguration(configure('registry.yaml'), {}, checks));
  };
  const GOOD = {
    name: 'Acme <reads> & writes',
    caller: { claims: { org: 'acme', role: 'admin' } },
    registry: 'default',
    enters: true,
    sees: ['io.acme/mail'],
    not: ['io.acme/deploy', 'io.acme/none'],
    roles: ['manageSources'],
  };
  const BAD = {
    caller: { claims: { org: 'contoso' } },
    registry: 'default',
    enters: true,
    sees: ['io.acme/mail'],
    roles: ['superAdmin'],
  };

  it('exits 0 when every expectation holds, and writes JUnit XML', async () => {
    const { code, output } = await check([GOOD], { junit: path('junit.xml') });
    expect(output).toContain('pass  Acme <reads> & writes  default\n');
    expect(output).toContain('1 passed, 0 failed');
    expect(code).toBe(0);
    expect(readFileSync(path('junit.xml'), 'utf8')).toContain(
      '<testcase classname="default" name="Acme &lt;reads&gt; &amp; writes" time="0"/>',
    );
  });

  it('exits 1 and lists each expectation that fails', async () => {
    const { code, output } = await check([GOOD, BAD], { junit: path('junit.xml') });
    expect(code).toBe(1);
    expect(output).toContain('FAIL  {"org":"contoso"}');
    for (const failure of [
      'does not enter, but should',
      'does not see io.acme/mail, but should',
      'has roles none; expected superAdmin',
    ])
      expect(output).toContain(`\n      ${failure}\n`);
    expect(readFileSync(path('junit.xml'), 'utf8')).toContain('tests="2" failures="1"');
  });

  it('exits 1 and reports errors in the list itself', async () => {
    const { code, output } = await check([{ caller: {}, registry: 'default', seas: [] }]);
    expect(code).toBe(1);
    expect(output).toContain('[0].seas: is not a known key; did you mean sees?');
    expect(output).toContain('[0].caller: must have exactly one of claims, token, anonymous, key, tokenFile');
  });
});

describe('check --against', () => {
  it('reports whose access changes and how', async () => {
    const old = configure('old.yaml', { catalogClaims: { org: 'acme', team: 'data' } });
    const { code, output } = await run(
      'check',
      '--config',
      configure('new.yaml', { admin: 'owner' }),
      '--against',
      old,
    );
    expect(code).toBe(0);
    expect(output).toContain('\nrole is admin: loses the role manageSources\n');
    expect(output).toContain('\nrole is owner: gains the role manageSources\n');
    expect(output).toContain(
      '\norg is acme: gains 2 entries in registry default: server io.acme/mail, server io.acme/wiki\n',
    );
    expect(output).not.toContain('team is data: ');
    expect(output).toContain('using only the configuration of mirror');
  });

  it('uses the entries of the database when it is reachable', async () => {
    const { connection, query, drop } = await aDatabase();
    try {
      await fill(query);
      const old = configure('old.yaml', { database: connection });
      const file = configure('new.yaml', {
        database: connection,
        catalogClaims: { org: 'acme', team: 'ops' },
      });
      const { code, output } = await printed(() => checkConfiguration(file, {}, { against: old }));
      expect(code).toBe(0);
      expect(output).toContain('\norg is acme: loses 1 entry in registry default: server io.acme/stored\n');
      expect(output).toContain('using the catalog in the database');
    } finally {
      await drop();
    }
  });
});

async function fill(query: (sql: string) => Promise<unknown>): Promise<void> {
  await query(`insert into claim_set (claims, digest) values ('{}', sha256('{}')) on conflict do nothing`);
  await query(
    `insert into source (name, kind, settings, interval_ms, claim_set_id, origin)
     select 'catalog', 'file', '{}', 3600000, id, 'config' from claim_set where claims = '{}'`,
  );
  await query(
    `with e as (insert into entry (source_id, type, name, claim_set_id)
       select s.id, 'server', 'io.acme/stored', s.claim_set_id from source s returning id)
     insert into entry_version (entry_id, version, version_key, document, digest, status, status_changed_at,
       published_at, updated_at, is_latest, search)
     select id, '1.0.0', 'k', '{}', '', 'active', now(), now(), now(), true, '' from e`,
  );
}
