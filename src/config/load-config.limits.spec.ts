import { mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { loadConfig } from './load-config.js';
import { limitsConfig } from './slices.js';

const file = join(mkdtempSync(join(tmpdir(), 'registry-limits-')), 'config.yaml');

function read(tree: object, environment: NodeJS.ProcessEnv = {}) {
  writeFileSync(file, JSON.stringify({ auth: { mode: 'anonymous' }, ...tree }));
  return loadConfig(file, environment, {}).config;
}

const words = (count: number) => Array.from({ length: count }, (_, at) => `word${at}`);

it.each<[object, string, string]>([
  [{ limits: 5 }, 'limits', 'must be a map, not a number'],
  [{ limits: { searchesPerCaller: 0 } }, 'limits.searchesPerCaller', 'from 1 to 1000'],
  [{ limits: { requestsInFlight: 1.5 } }, 'limits.requestsInFlight', 'must be a whole number'],
  [{ limits: { requestsInFlight: '1000' } }, 'limits.requestsInFlight', 'must be a whole number'],
  [{ limits: { connections: -1 } }, 'limits.connections', 'from 1 to 100000'],
  [{ limits: { connections: null } }, 'limits.connections', 'must be a whole number'],
  [{ limits: { claimSetsPerSource: 1e7 } }, 'limits.claimSetsPerSource', 'from 1 to 1000000'],
  [{ limits: { mebibytesPerFile: 513 } }, 'limits.mebibytesPerFile', 'from 1 to 512'],
  [{ limits: { versionsPerEntry: 0 } }, 'limits.versionsPerEntry', 'from 1 to 1000000'],
  [{ content: { maxBytesPerVersion: '257MiB' } }, 'content.maxBytesPerVersion', 'from 1KiB to 256MiB'],
  [{ content: { maxBytes: '10GB' } }, 'content.maxBytes', 'must be a size from 1KiB to 102400GiB'],
  [{ content: { fetch: {} } }, 'content.fetch.hosts', 'is required'],
  [{ content: { fetch: { hosts: ['https://git.example.com'] } } }, 'content.fetch.hosts[0]', 'host name'],
  [{ content: { fetch: { hosts: ['git.example.com:0'] } } }, 'content.fetch.hosts[0]', 'optional port'],
  [{ content: { fetch: { hosts: [7] } } }, 'content.fetch.hosts[0]', 'must be a string, not a number'],
  [{ content: { fetch: { hosts: [{}] } } }, 'content.fetch.hosts[0].host', 'is required'],
  [
    { content: { fetch: { hosts: ['a.example', { host: 'a.example' }] } } },
    'content.fetch.hosts[1]',
    'already',
  ],
  [
    { content: { fetch: { hosts: [{ host: 'a.example', auth: { username: 'x' } }] } } },
    'content.fetch.hosts[0].auth.passwordFile',
    'is required',
  ],
  [
    { content: { fetch: { hosts: [{ host: 'a.example', auth: { username: 'x', passwordFile: 'none' } }] } } },
    'content.fetch.hosts[0].auth.passwordFile',
    'does not exist',
  ],
  [{ limits: { bytesPerEntry: 1_000_000 } }, 'limits.bytesPerEntry', 'must be a size from 1KiB to 64GiB'],
  [{ limits: { bytesPerEntry: '64MB' } }, 'limits.bytesPerEntry', 'with a unit, such as 64GiB'],
  [{ limits: { publisherMeta: '2MiB' } }, 'limits.publisherMeta', 'from 1KiB to 1MiB'],
  [{ limits: { publisherMeta: 65_536 } }, 'limits.publisherMeta', 'must be a size from 1KiB to 1MiB'],
  [{ limits: { bytesPerEntry: '65GiB' } }, 'limits.bytesPerEntry', 'from 1KiB to 64GiB'],
  [{ limits: { bytesPerEntry: '0KiB' } }, 'limits.bytesPerEntry', 'from 1KiB to 64GiB'],
  [{ limits: { apiSources: -1 } }, 'limits.apiSources', 'from 0 to 100000'],
  [{ limits: { apiRegistries: 1.5 } }, 'limits.apiRegistries', 'must be a whole number'],
  [{ limits: { changesPerMinute: 0 } }, 'limits.changesPerMinute', 'from 1 to 1000000'],
  [{ limits: { searchIndexBytes: 192 } }, 'limits.searchIndexBytes', 'must be a size from 1KiB to 64GiB'],
  [{ limits: { keepAlive: '0s' } }, 'limits.keepAlive', 'must be a duration from 1s to 10m'],
  [{ limits: { keepAlive: 65 } }, 'limits.keepAlive', 'with units'],
  [{ shutdown: { notice: '6m' } }, 'shutdown.notice', 'must be a duration from 0s to 5m'],
  [{ shutdown: { notice: 0 } }, 'shutdown.notice', 'with units'],
  [
    { search: { synonyms: [['k8s', 'kube ctl']] } },
    'search.synonyms[0][1]',
    'one word of letters and digits',
  ],
  [{ search: { synonyms: [[]] } }, 'search.synonyms[0]', 'must not be an empty list'],
  [{ search: { synonyms: [['a', 'a']] } }, 'search.synonyms[0][1]', 'already in the list'],
  [{ search: { synonyms: ['k8s'] } }, 'search.synonyms[0]', 'must be a list'],
  [{ search: { synonyms: [words(21)] } }, 'search.synonyms[0]', 'must not have more than 20 items'],
  [{ search: { synonyms: words(1_001) } }, 'search.synonyms', 'must not have more than 1000 items'],
  [{ limits: { connection: 1 } }, 'limits.connection', 'did you mean connections?'],
])('refuses %j at %s: %s', (tree, path, fragment) => {
  expect(() => read(tree)).toThrow(`${path}: `);
  expect(() => read(tree)).toThrow(fragment);
});

it('accepts words of any script as synonyms', () => {
  const synonyms = [['k8s', 'kubernetes'], words(20), ['天气', 'météo']];
  expect(read({ search: { synonyms } }).search.synonyms).toEqual(synonyms);
  expect(read({}).search.synonyms).toEqual([]);
});

it('sets the limits in the file and keeps defaults for the others', () => {
  const limits = { searchesPerCaller: 5, connections: 10 };
  expect(limitsConfig(read({ limits }))).toEqual({
    searchesPerCaller: 5,
    requestsInFlight: 1_000,
    connections: 10,
    claimSetsPerSource: 10_000,
    mebibytesPerFile: 64,
    versionsPerEntry: 1_000,
    bytesPerEntry: 67_108_864,
    publisherMeta: 262_144,
    apiSources: 1_000,
    apiRegistries: 1_000,
    changesPerMinute: 600,
    searchIndexBytes: 134_217_728,
    keepAliveMs: 65_000,
  });
});

it('a variable overrides a limit in the file', () => {
  const environment = { REGISTRY_LIMITS_SEARCHES_PER_CALLER: '7' };
  expect(read({ limits: { searchesPerCaller: 5 } }, environment).limits.searchesPerCaller).toBe(7);
  expect(() => read({}, { REGISTRY_LIMITS_CONNECTIONS: 'many' })).toThrow(
    'set by REGISTRY_LIMITS_CONNECTIONS',
  );
});

it.each([
  [{}, null],
  [{ shutdown: {} }, null],
  [{ shutdown: { notice: '0s' } }, 0],
  [{ shutdown: { notice: '1m30s' } }, 90_000],
])('%j gives a shutdown notice of %s ms', (tree, noticeMs) => {
  expect(read(tree).shutdown).toEqual({ noticeMs });
  expect(read(tree, { REGISTRY_SHUTDOWN_NOTICE: '7s' }).shutdown).toEqual({ noticeMs: 7_000 });
});
