import { mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { stringify } from 'yaml';
import { refusalOf } from '../../test/support/refused-configuration.js';
import { checkShape } from '../validation/class-validation.js';
import { formatPath, type Problem } from '../validation/value-checks.js';
import { ConfigFile } from './config-file.dto.js';
import { loadConfig } from './load-config.js';
import { TOOLHIVE_FILE, toolhiveKeys } from './toolhive-keys.js';

const file = join(mkdtempSync(join(tmpdir(), 'registry-toolhive-')), 'config.yaml');

function problemsOf(text: string): readonly Problem[] {
  writeFileSync(file, text);
  return refusalOf(() => loadConfig(file, {}, {}))?.problems ?? [];
}

const problemLines = (text: string) => problemsOf(text).map(({ path, message }) => `${path}: ${message}`);

/** Keys that both servers have. */
const SHARED = {
  auth: { mode: 'anonymous' },
  sources: [{ name: 'catalog', file: { path: 'registry.json' }, syncPolicy: { interval: '30m' } }],
  registries: [{ name: 'default', sources: ['catalog'] }],
  database: { host: 'db', port: 5432, user: 'app', database: 'registry', sslMode: 'require' },
};
const [source] = SHARED.sources;
const [registry] = SHARED.registries;
const withSource = (changed: object) => ({ ...SHARED, sources: [{ ...source, ...changed }] });
const withRegistry = (changed: object) => ({ ...SHARED, registries: [{ ...registry, ...changed }] });
const withDatabase = (changed: object) => ({ ...SHARED, database: { ...SHARED.database, ...changed } });

/** ToolHive keys that are unknown here, each in an otherwise valid file, and part of the advice. */
const FOREIGN: [path: string, tree: object, advice: string][] = [
  ['registryName', { ...SHARED, registryName: 'acme' }, 'remove it'],
  ['fileStorage', { ...SHARED, fileStorage: { baseDir: '/data' } }, 'all data is in the database'],
  ['auth.publicPaths', { ...SHARED, auth: { mode: 'anonymous', publicPaths: ['/a'] } }, 'auth.oauth.publicPaths'],
  ['database.maxOpenConns', withDatabase({ maxOpenConns: 25 }), 'is database.pool.max here'],
  ['database.maxIdleConns', withDatabase({ maxIdleConns: 5 }), 'remove it'],
  ['database.connMaxLifetime', withDatabase({ connMaxLifetime: '1h' }), 'remove it'],
  ['database.maxMetaSize', withDatabase({ maxMetaSize: 1 }), 'limits.publisherMeta'],
  ['database.dynamicAuth', withDatabase({ dynamicAuth: { awsRdsIam: { region: 'x' } } }), 'passwordFile'],
  ['sources[0].format', withSource({ format: 'upstream' }), 'remove it'],
  ['sources[0].file.data', withSource({ file: { path: 'a', data: '{}' } }), 'set path to it'],
  ['sources[0].file.timeout', withSource({ file: { url: 'https://x.example/a.json', timeout: '30s' } }), 'remove it'],
  ['sources[1].kubernetes.claimMapping', { ...SHARED, sources: [source, { name: 'k', kubernetes: { claimMapping: {} } }] }, 'authz-claims'],
  ['registries[0].format', withRegistry({ format: 'toolhive' }), 'item of sources'],
  ['registries[0].git', withRegistry({ git: { repository: 'https://x.example/a.git' } }), 'item of sources'],
  ['registries[0].api', withRegistry({ api: { endpoint: 'https://x.example' } }), 'item of sources'],
  ['registries[0].file', withRegistry({ file: { path: 'a.json' } }), 'item of sources'],
  ['registries[0].managed', withRegistry({ managed: {} }), 'item of sources'],
  ['registries[0].kubernetes', withRegistry({ kubernetes: {} }), 'item of sources'],
  ['registries[0].syncPolicy', withRegistry({ syncPolicy: { interval: '1h' } }), 'item of sources'],
  ['registries[0].filter', withRegistry({ filter: { tags: { include: ['a'] } } }), 'item of sources'],
  ['telemetry.serviceName', { ...SHARED, telemetry: { serviceName: 'x' } }, 'OTEL_SERVICE_NAME'],
  ['telemetry.endpoint', { ...SHARED, telemetry: { endpoint: 'collector:4318' } }, 'telemetry.otlpEndpoint'],
  ['telemetry.tracing', { ...SHARED, telemetry: { tracing: { sampling: '0.1' } } }, 'telemetry.sampleRatio'],
  ...['enabled', 'serviceVersion', 'insecure', 'metrics'].map(
    (key): [string, object, string] => [`telemetry.${key}`, { ...SHARED, telemetry: { [key]: 'x' } }, '/metrics'],
  ),
  ...['enabled', 'logFile', 'eventTypes', 'excludeEventTypes', 'includeRequestData', 'maxDataSize'].map(
    (key): [string, object, string] => [`audit.${key}`, { ...SHARED, audit: { [key]: 'x' } }, 'has no equivalent'],
  ),
]; // oxfmt-ignore

describe('a configuration of a ToolHive registry server', () => {
  it.each(FOREIGN)('is recognized by %s', (path, tree, advice) => {
    const [first, ...others] = problemsOf(stringify(tree));
    expect(first).toEqual({ path: file, message: TOOLHIVE_FILE });
    const about = others.filter((problem) => problem.path === path);
    expect(about).toEqual([{ path, message: expect.stringContaining(advice), line: expect.any(Number) }]);
  });

  it('is accepted when it only has common keys', () => {
    expect(problemLines(stringify(SHARED))).toEqual([]);
  });

  it('is distinguished from unknown keys', () => {
    expect(problemLines(stringify({ ...SHARED, colour: 'red' }))).toEqual(['colour: is not a known key']);
    expect(problemLines(stringify(withDatabase({ maxOpen: 5 })))).toEqual([
      'database.maxOpen: is not a known key',
    ]);
  });

  it('is recognized in the configYAML of a resource', () => {
    const resource = { apiVersion: 'toolhive.stacklok.dev/v1beta1', kind: 'MCPRegistry' };
    const found = problemLines(stringify({ ...resource, spec: { configYAML: stringify(SHARED) } }));
    expect(found[0]).toBe(`${file}: ${TOOLHIVE_FILE}`);
    expect(found).toContainEqual(expect.stringMatching(/^spec\.configYAML: .*write its text to a file/));
  });

  it('yields a problem for each foreign key, with its line but without its value', () => {
    const text = [
      'auth: { mode: anonymous, publicPaths: [/hunter2] }',
      'sources:',
      '  - { name: a, format: hunter2, file: { path: a, data: hunter2 }, syncPolicy: { interval: 1h } }',
      'registries: [{ name: default, sources: [a] }]',
      'database:',
      '  { host: db, user: app, database: r, dynamicAuth: { awsRdsIam: { region: hunter2 } }, password: hunter2 }',
      'telemetry: { enabled: true, endpoint: "hunter2:4318" }',
    ].join('\n');
    const problems = problemsOf(text);
    expect(problems.map(({ path, line }) => [path, line])).toEqual([
      [file, undefined],
      ['auth.publicPaths', 1],
      ['sources[0].format', 3],
      ['sources[0].file.data', 3],
      ['database.dynamicAuth', 6],
      ['telemetry.enabled', 7],
      ['telemetry.endpoint', 7],
    ]);
    expect(JSON.stringify(problems)).not.toContain('hunter2');
  });

  it('may have any value at its keys', () => {
    for (const odd of [null, 5, 'text', [], [null, 5, [[]]], { 0: {} }])
      for (const key of ['auth', 'sources', 'registries', 'database', 'telemetry', 'audit', 'spec'])
        expect(() => toolhiveKeys({ [key]: odd })).not.toThrow();
    for (const odd of [undefined, null, 5, 'text', [{ registryName: 'x' }]])
      expect(toolhiveKeys(odd)).toEqual([]);
  });

  // Otherwise a valid configuration of this server would be refused.
  it.each(FOREIGN)('is not recognized by a key that exists here: %s', (path, tree) => {
    const unknown = checkShape(ConfigFile, tree)
      .issues.filter(({ message }) => message.startsWith('is not a known key'))
      .map((found) => formatPath(found.path));
    expect(unknown.some((above) => path === above || path.startsWith(`${above}.`))).toBe(true);
  });
});
