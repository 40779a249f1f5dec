import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import fc from 'fast-check';
import { beforeAll, describe, expect, it } from 'vitest';
import { stringify } from 'yaml';
import { policy } from '../../dist/cli/policy.js';
import { Cli, printed } from '../support/cli.js';
import { aServer, aSkill, type Document } from '../support/documents.js';
import { aFolder } from '../support/folder.js';
import { aService } from '../support/service.js';
import { storeContent } from '../support/stored-content.js';

const remote = (host: string): Document => ({
  remotes: [{ type: 'streamable-http', url: `https://${host}.example/mcp` }],
});
/** Claims of sources, and names that only their entries have. */
const SOURCES: Record<string, { org: string; team?: string | string[]; site?: string }> = {
  open: { org: 'acme' },
  red: { org: 'acme', team: 'red' },
  blue: { org: 'acme', team: 'blue' },
  both: { org: 'acme', team: ['red', 'blue'] },
  north: { org: 'acme', site: 'north' },
  'red-north': { org: 'acme', team: 'red', site: 'north' },
};

let described = aService({ mode: 'full' });
for (const [name, claims] of Object.entries(SOURCES))
  described = described.source(name, {
    claims,
    servers: [aServer(`io.acme/${name}`, '1.0.0', remote(`host-${name}`)), aServer(`io.${name}/none`)],
  });
const service = described
  .source('published', { kind: 'managed' })
  .source('tools', { claims: { org: 'acme' }, plugins: [aSkill('io.acme/tool')] })
  .registry('main', { sources: [...Object.keys(SOURCES), 'published'], claims: { org: 'acme' } })
  .registry('market', {
    sources: ['red', 'tools'],
    claims: { org: 'acme' },
    marketplace: { name: 'acme', owner: 'Acme' },
  })
  .runs();

const folder = aFolder();
const RED = { name: 'red', registry: 'main', claims: { org: 'acme', team: 'red' } };
const BLUE = { name: 'blue', registry: 'main', claims: { org: 'acme', team: 'blue' } };
const some = { clients: ['claude-code', 'codex'], forms: ['servers', 'managed'] };

let config: string;
beforeAll(() => {
  config = join(dirname(service.write('placeholder', '')), 'registry.yaml');
});

const run = (teams: unknown, out: string, check = false) =>
  printed(() =>
    policy({
      config,
      teams: folder.write('teams.yaml', typeof teams === 'string' ? teams : stringify({ teams })),
      out: folder.file(out),
      check,
    }),
  );
const read = (out: string, path: string) => readFileSync(join(folder.file(out), path), 'utf8');
const served = async (claims: object, client: string, form: string, registry = 'main') =>
  (await service.as({ ...claims }).get(`/registry/${registry}/x/client-config?client=${client}&form=${form}`))
    .text;

describe('the policy command', () => {
  it("writes each team's files as the server would return them, and writes nothing if nothing changed", async () => {
    const teams = [
      { ...RED, ...some },
      { ...BLUE, ...some },
    ];
    const files = ['blue', 'red'].flatMap((team) =>
      [
        'claude-code.managed.json',
        'claude-code.servers.json',
        'codex.managed.toml',
        'codex.servers.toml',
      ].map((file) => `${team}/${file}`),
    );
    expect(await run(teams, 'all', true)).toEqual({
      code: 1,
      output: files.map((file) => `would write ${file}\n`).join(''),
    });
    expect(existsSync(folder.file('all'))).toBe(false);
    expect(await run(teams, 'all')).toEqual({
      code: 0,
      output: files.map((file) => `write ${file}\n`).join(''),
    });
    for (const { name, claims } of [RED, BLUE])
      for (const [client, extension] of [
        ['claude-code', 'json'],
        ['codex', 'toml'],
      ] as const)
        for (const form of some.forms)
          expect(read('all', `${name}/${client}.${form}.${extension}`)).toBe(
            await served(claims, client, form),
          );
    const before = statSync(join(folder.file('all'), 'red/codex.servers.toml')).mtimeMs;
    for (const check of [true, false])
      expect(await run(teams, 'all', check)).toEqual({ code: 0, output: '' });
    expect(statSync(join(folder.file('all'), 'red/codex.servers.toml')).mtimeMs).toBe(before);
  });

  it('removes only the files of teams that no longer exist', async () => {
    await run(
      [
        { ...RED, ...some },
        { ...BLUE, ...some },
      ],
      'gone',
    );
    const strangers = [
      'README.md',
      'blue/notes.txt',
      'Not a team/cursor.servers.json',
      'other/vscode.plan.json',
    ];
    for (const path of strangers) {
      mkdirSync(dirname(join(folder.file('gone'), path)), { recursive: true });
      writeFileSync(join(folder.file('gone'), path), 'mine');
    }
    symlinkSync(folder.file('gone'), join(folder.file('gone'), 'link'));
    const teams = [{ ...RED, clients: ['codex'], forms: ['servers'] }];
    expect(await run(teams, 'gone', true)).toMatchObject({ code: 1 });
    const { code, output } = await run(teams, 'gone');
    expect(code).toBe(0);
    expect(output.split('\n').filter((line) => line.startsWith('remove'))).toHaveLength(7);
    expect(readdirSync(join(folder.file('gone'), 'red'))).toEqual(['codex.servers.toml']);
    expect(readdirSync(join(folder.file('gone'), 'blue'))).toEqual(['notes.txt']);
    for (const path of strangers) expect(read('gone', path)).toBe('mine');
    expect(await run(teams, 'gone', true)).toEqual({ code: 0, output: '' });
  });

  it('reports drift by exit code 1', async () => {
    const teams = [{ ...RED, ...some }];
    await run(teams, 'drift');
    writeFileSync(join(folder.file('drift'), 'red/codex.servers.toml'), 'changed');
    expect(await run(teams, 'drift', true)).toEqual({
      code: 1,
      output: 'would write red/codex.servers.toml\n',
    });
    expect(read('drift', 'red/codex.servers.toml')).toBe('changed');
  });

  it('writes the plugin settings of a marketplace', async () => {
    await storeContent(service, 'plugin', 'io.acme/tool', '1.0.0', {
      'mcp.json': JSON.stringify({
        mcpServers: { pad: { type: 'stdio', command: 'npx', args: ['left-pad'] } },
      }),
    });
    const clients = { vscode: 'json', copilot: 'json', 'claude-code': 'json', codex: 'toml' };
    const forms = ['allowlist', 'managed', 'plugins'];
    const team = { ...RED, registry: 'market', clients: Object.keys(clients), forms };
    expect(await run([team], 'market')).toMatchObject({ code: 0 });
    for (const [client, extension] of Object.entries(clients))
      for (const form of forms) {
        const text = read('market', `red/${client}.${form}.${extension}`);
        expect(text).toBe(await served(RED.claims, client, form, 'market'));
        expect(text).toContain(form === 'plugins' ? 'io-acme-tool@acme' : 'left-pad');
      }
  });

  it.each<[unknown, string]>([
    [
      [
        { ...RED, ...some },
        { ...BLUE, clients: ['codex'], forms: ['plugins'] },
      ],
      'teams[1].forms: main: ',
    ],
    [[{ ...RED, ...some, registry: 'nowhere' }], 'teams[0].registry: nowhere: '],
    [
      [
        { ...BLUE, ...some },
        { ...RED, ...some, claims: { org: 'contoso' } },
      ],
      'teams[1].claims: main: ',
    ],
    [[{ ...RED, ...some, name: '../red' }], 'teams[0].name: '],
    [
      [
        { ...RED, ...some },
        { ...RED, ...some },
      ],
      'teams[1].name: red appears twice',
    ],
    [[{ ...RED, ...some, clients: ['emacs'] }], 'teams[0].clients[0]: '],
    [[{ ...RED, ...some, forms: [] }], 'teams[0].forms: '],
    [[{ ...RED, clients: ['cursor'], forms: ['servers', 'denylist'] }], 'teams[0].forms[1]: '],
    [[{ ...RED, ...some, colour: 'red' }], 'teams[0].colour: '],
    ['teams: [', 'teams.yaml'],
  ])('exits with 2 and the path for %j', async (teams, path) => {
    const { code, output } = await run(teams, 'bad');
    expect({ code, output }).toEqual({ code: 2, output: expect.stringContaining(path) });
    expect(existsSync(folder.file('bad'))).toBe(false);
  });

  it('needs its options and readable files', async () => {
    expect(await new Cli(['policy', '--config', config]).finished).toMatchObject({ code: 2 });
    const options = { config, teams: folder.file('none.yaml'), out: folder.file('bad') };
    expect(await printed(() => policy(options))).toEqual({
      code: 2,
      output: `policy: ${folder.file('none.yaml')}: ENOENT\n`,
    });
  });

  it('writes nothing to the database', async () => {
    const state = () =>
      service.database.query(
        `select (select count(*) from audit_event) as events, (select json_agg(s order by id) from source s) as sources`,
      );
    const before = await state();
    await run([{ ...RED, ...some }], 'unchanged');
    expect(await state()).toEqual(before);
  });
});

describe('the files of a team', () => {
  /** More worlds for a longer run. */
  const worlds = Number(process.env['POLICY_WORLDS'] ?? 20);
  const seed = Number(process.env['MODEL_SEED'] ?? 7);
  const claims = fc.record(
    {
      org: fc.constant('acme'),
      team: fc.constantFrom('red', 'blue', 'green', ['red', 'blue']),
      site: fc.constantFrom('north', ['north', 'south']),
    },
    { requiredKeys: ['org'] },
  );

  it('contain nothing that its claims hide', async () => {
    const teams = fc.sample(claims, { numRuns: worlds, seed }).map((held, index) => ({
      name: `team-${index}`,
      registry: 'main',
      claims: held as Document,
      clients: ['vscode', 'copilot', 'claude-code', 'cursor', 'codex'],
      forms: ['servers', 'allowlist', 'managed', 'denylist'],
    }));
    expect(await run(teams, 'worlds')).toMatchObject({ code: 0 });
    for (const { name, claims: held } of teams) {
      const visible = Object.entries(SOURCES).filter(([, required]) =>
        Object.entries(required).every(([key, values]) =>
          [values].flat().every((value) => [held[key]].flat().includes(value)),
        ),
      );
      const files = readdirSync(join(folder.file('worlds'), name));
      expect(files).toHaveLength(17);
      for (const file of files) {
        const text = read('worlds', `${name}/${file}`);
        for (const source of Object.keys(SOURCES)) {
          const isVisible = visible.some(([one]) => one === source);
          if (!isVisible)
            expect(text, `${file}, MODEL_SEED=${seed}`).not.toMatch(
              new RegExp(`(host-|io\\.|/)${source}["./-]`),
            );
          else if (!file.includes('denylist'))
            expect(text, file).toContain(`https://host-${source}.example/mcp`);
        }
      }
    }
  });
});
