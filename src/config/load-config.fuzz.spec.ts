import { mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { refusalOf } from '../../test/support/refused-configuration.js';
import { inSoak } from '../../test/support/soak.js';
import { loadConfig } from './load-config.js';
import { parseYaml } from './yaml.js';

const directory = mkdtempSync(join(tmpdir(), 'registry-config-'));
const file = join(directory, 'config.yaml');
writeFileSync(join(directory, 'secret'), 'hunter2');

const GOOD = {
  auth: {
    mode: 'oauth',
    oauth: {
      resourceUrl: 'https://registry.example.com',
      realm: 'mcp-registry',
      scopesSupported: ['mcp-registry:read'],
      publicPaths: ['/docs/*'],
      resourceDocumentation: 'https://docs.example.com',
      providers: [
        {
          name: 'corporate',
          issuerUrl: 'https://idp.example.com',
          audience: 'api://registry',
          jwksUrl: 'https://idp.example.com/keys',
          introspectionUrl: 'https://idp.example.com/introspect',
          clientId: 'me',
          clientSecretFile: 'secret',
          authTokenFile: 'secret',
          allowPrivateIP: true,
        },
      ],
    },
    authz: {
      roles: { superAdmin: [{ role: 'super-admin' }], manageEntries: [{ role: ['writer', 'editor'] }] },
      policy: { arrayValues: 'any', unlabeled: 'deny', registryListing: 'readers' },
    },
  },
  sources: [
    {
      name: 'catalog',
      file: { path: '/srv/a.json' },
      syncPolicy: { interval: '30m' },
      filter: { names: { include: ['*'] } },
    },
    {
      name: 'code',
      git: {
        repository: 'https://x.example/a',
        tag: 'v1',
        path: 'a/b.json',
        auth: { username: 'u', passwordFile: 'secret' },
      },
      syncPolicy: { interval: '1h' },
    },
    {
      name: 'other',
      api: { endpoint: 'https://r.example.com', timeout: '10s' },
      syncPolicy: { interval: '1h' },
    },
    { name: 'own', managed: {}, claims: { org: 'acme', team: ['a', 'b'] } },
    { name: 'cluster', kubernetes: { namespaces: ['tools'] } },
  ],
  registries: [{ name: 'default', sources: ['catalog', 'own'], claims: { org: 'acme' } }],
  database: {
    host: 'db',
    port: 5432,
    user: 'me',
    database: 'reg',
    sslMode: 'require',
    pool: { max: 5 },
    passwordFile: 'secret',
  },
  cors: { origins: ['*'] },
  log: { level: 'info' },
  limits: { searchesPerCaller: 2, connections: 100 },
};

type Step = string | number;

function nodesOf(value: unknown, path: Step[] = []): Step[][] {
  if (typeof value !== 'object' || value === null) return [path];
  const members = Array.isArray(value) ? [...value.entries()] : Object.entries(value);
  return [path, ...members.flatMap(([step, member]: [Step, unknown]) => nodesOf(member, [...path, step]))];
}

function replaced(tree: unknown, [step, ...rest]: Step[], odd: unknown): unknown {
  if (step === undefined) return odd;
  if (Array.isArray(tree))
    return tree.map((member: unknown, i) => (i === step ? replaced(member, rest, odd) : member));
  const members = Object.entries(Object(tree)).map(([key, member]) => [
    key,
    key === step ? replaced(member, rest, odd) : member,
  ]);
  return Object.fromEntries(members);
}

const oddKeys = [
  '__proto__',
  'constructor',
  'toString',
  'then',
  'length',
  'hasOwnProperty',
  '',
  '0',
  'name',
  'file',
  'auth',
];
const odd = fc.letrec((tie) => ({
  value: fc.oneof(
    { depthSize: 'small' },
    fc.constantFrom<unknown>(
      null,
      true,
      false,
      0,
      -1,
      1.5,
      1e308,
      '',
      ' ',
      '*',
      '/',
      '0',
      'http://',
      'https://[',
      '\0',
      '%',
      '$&',
    ),
    fc.string({ unit: 'binary', maxLength: 20 }),
    fc.webUrl({ withQueryParameters: true }),
    fc.array(tie('value'), { maxLength: 3 }),
    fc
      .array(fc.tuple(fc.oneof(fc.constantFrom(...oddKeys), fc.string()), tie('value')), { maxLength: 3 })
      .map((members) => Object.fromEntries(members)),
  ),
})).value;

it('the base configuration is valid', () => {
  writeFileSync(file, JSON.stringify(GOOD));
  expect(loadConfig(file, {}, {}).config.sources).toHaveLength(5);
});

it('a configuration with odd values loads or throws ConfigurationError', () => {
  const paths = nodesOf(GOOD);
  const changes = fc.array(fc.tuple(fc.constantFrom(...paths), odd), { minLength: 1, maxLength: 3 });
  fc.assert(
    fc.property(changes, (list) => {
      const tree = list.reduce<unknown>((result, [path, value]) => replaced(result, path, value), GOOD);
      writeFileSync(file, JSON.stringify(tree));
      expectReadOrRefused(() =>
        loadConfig(file, { REGISTRY_LOG_LEVEL: 'debug', REGISTRY_DATABASE_PORT: '5433' }, {}),
      );
    }),
    { numRuns: inSoak(5_000, 50) },
  );
});

/** Replacements for every node. The soak tests try all of them; a normal run tries one per node. */
const REPLACEMENTS: readonly unknown[] = [
  null,
  'x',
  5,
  true,
  [],
  {},
  [null],
  [[{ constructor: 'x' }]],
  { constructor: 'x' },
  { then: 1 },
];
const REPLACEMENTS_A_NODE = inSoak(REPLACEMENTS.length, 1);

it('any node can be absent, a string, a number, a list or a map', () => {
  for (const [index, path] of nodesOf(GOOD).entries())
    for (let count = 0; count < REPLACEMENTS_A_NODE; count += 1) {
      const value = REPLACEMENTS[(index * REPLACEMENTS_A_NODE + count) % REPLACEMENTS.length];
      writeFileSync(file, JSON.stringify(replaced(GOOD, path, value)));
      expectReadOrRefused(() => loadConfig(file, {}, {}));
    }
});

it('any text parses or throws ConfigurationError', () => {
  const fragments = fc.constantFrom(
    'a: ',
    '- ',
    '? ',
    '{',
    '}',
    '[',
    ']',
    '"',
    "'",
    '|',
    '>',
    '&x ',
    '*x',
    '!t ',
    '%Y',
    '---',
    '\n',
    '  ',
    '#',
    ',',
    ':',
    'b',
    '\t',
    '<<',
    '~',
  );
  fc.assert(
    fc.property(fc.array(fragments, { maxLength: 30 }), (parts) => {
      expectReadOrRefused(() => parseYaml(parts.join(''), 'f.yaml'));
    }),
    { numRuns: inSoak(2_000, 200) },
  );
});

function expectReadOrRefused(act: () => unknown): void {
  const error = refusalOf(act);
  if (!error) return;
  expect(error.problems.length).toBeGreaterThan(0);
  expect(error.problems.every(({ path, message }) => path !== '' && message !== '')).toBe(true);
  expect(error.message).not.toContain('hunter2');
}
