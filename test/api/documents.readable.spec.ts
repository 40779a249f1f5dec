import { createServer } from 'node:http';
import { beforeAll, describe, expect, it } from 'vitest';
import { exported, listed, syncOf, watching } from '../support/cluster-objects.js';
import { aCatalogue, type Document } from '../support/documents.js';
import { aGitServer } from '../support/git-server.js';
import { aCluster } from '../support/kubernetes-api.js';
import { listensMeanwhile, urlOf } from '../support/loopback.js';
import { expectRefused } from '../support/matchers.js';
import { aDocument, aName, consumerAt, listAt, type Type, TYPES } from '../support/publishing.js';
import { aService } from '../support/service.js';
import { anUpstreamRegistry } from '../support/upstream-registry.js';
import { within } from '../support/within.js';

/** A document has 5 other values: the object, its name, description and version, and $schema or namespace. */
const LIST_OF_MOST = 20_000 - 6;
const list = (length: number) => `[${'0,'.repeat(length - 1)}0]`;

/** The text of a document's member `x`, why it is refused, and the text of an accepted twin. */
const UNREADABLE: readonly (readonly [what: string, text: string, problem: string, twin: string])[] = [
  ['an unpaired surrogate', '"a\\ud800"', 'x: contains an unpaired surrogate', '"a\\ud83d\\ude80"'],
  ['the second half of a pair', '["\\ude80"]', 'x[0]: contains an unpaired', '["\\ud83d\\ude80"]'],
  ['an unpaired surrogate in a key', '{"\\udfff":1}', 'its key contains an unpaired', '{"\\ud83d\\ude80":1}'],
  ['a number beyond a double', '1e400', 'x: is a number that is too large', '1e300'],
  ['a negative number beyond a double', '{"n":[-1e400]}', 'x.n[0]: is a number', '{"n":[-1e300,1e-400]}'],
  ['20,001 values', list(LIST_OF_MOST + 1), 'has more than 20000 values', list(LIST_OF_MOST)],
]; // oxfmt-ignore

const DOORS = ['/v1/entries/validate', '/v1/entries?dry_run=true', '/v1/entries'];

const withMember = (document: Document, text: string) =>
  JSON.stringify({ ...document, x: 'HERE' }).replace('"HERE"', text);

/** Each document with the text that no strict parser reads, and its twin, by name. */
const documentsOf = (type: Type) =>
  UNREADABLE.flatMap(([, text, , twin], index) => [
    withMember(aDocument(type, `io.acme/bad-${index}`), text),
    withMember(aDocument(type, `io.acme/good-${index}`), twin),
  ]);

/** A registry file with these documents, which may exceed what JSON.stringify writes. */
const fileOf = (more = '') =>
  JSON.stringify(aCatalogue(['SERVERS'], ['SKILLS']))
    .replace('"SERVERS"', documentsOf('server').join() + more)
    .replace('"SKILLS"', documentsOf('skill').join());

const git = aGitServer().runs();
const upstream = anUpstreamRegistry().runs();
const web = createServer((_, response) => void response.end(fileOf()));
listensMeanwhile(web);
const service = aService()
  .source('published', { kind: 'managed' })
  .source('file', { text: fileOf() })
  // Large enough to be read in a worker thread.
  .source('large', { text: fileOf(`,${'1,'.repeat(99)}"${'x'.repeat(1_100_000)}"`) })
  .registry('main', { sources: ['published'], publishClaims: { org: 'acme' } });
for (const source of ['file', 'large', 'url', 'git', 'api']) service.registry(source, { sources: [source] });
beforeAll(async () => {
  await git.repository('acme').commit({ 'registry.json': fileOf() });
  const servers = documentsOf('server').map((server) => `{"server":${server}}`);
  upstream.habits = { text: () => `{"servers":[${servers.join()}]}`, skillsText: `{"skills":[${documentsOf('skill').join()}]}` };
  upstream.skills = [];
  service
    .source('url', { settings: { url: urlOf(web) }, missing: true })
    .source('git', { kind: 'git', settings: { repository: git.url('acme'), path: 'registry.json' } })
    .source('api', { kind: 'api', settings: { endpoint: upstream.url } });
}); // oxfmt-ignore
service.runs();

// reference/limits: what is served parses everywhere; §7: 20,000 values.
describe('a document that not every client could read', () => {
  it.each(['file', 'large', 'url', 'git', 'api'])(
    'is skipped with the reason by a sync: %s',
    async (source) => {
      const { skipped } = await service.synced(source);
      for (const [index, [what, , problem]] of UNREADABLE.entries()) {
        const found = skipped.filter(({ name }) => String(name).endsWith(`bad-${index}`));
        // If a document has too many values, nothing is read from it, not even its name.
        const nameless = skipped.filter(({ reasons }) => String(reasons).startsWith(problem));
        for (const { reasons } of found) expect(String(reasons), what).toContain(problem);
        expect(Math.max(found.length, nameless.length), what).toBe(TYPES.length);
      }
      for (const type of TYPES) {
        const { text, json } = await service.get(`${listAt(type, source)}?limit=100`);
        // JSON.stringify escapes only unpaired surrogates.
        expect(JSON.stringify(json)).not.toMatch(/bad-|\\ud[89a-f]/);
        expect(text).not.toContain('1e400');
        expect((json as { metadata: Document }).metadata['count']).toBe(UNREADABLE.length);
      }
    },
  );

  it.each(TYPES.flatMap((type) => UNREADABLE.map((row) => [type, ...row] as const)))(
    'is refused to the publisher of a %s with %s',
    async (type, what, text, problem, twin) => {
      const name = aName();
      const doors = what === UNREADABLE[0]?.[0] ? DOORS : ['/v1/entries'];
      const body = (member: string) => `{"${type}":${withMember(aDocument(type, name), member)}}`;
      for (const path of doors) {
        const reply = await service.post(path, body(text));
        expectRefused(reply, 400, 'invalid_document');
        expect((reply.json as { error: string }).error).toContain(problem);
      }
      expect((await service.get(consumerAt(type, name))).status).toBe(404);
      for (const path of doors) expect((await service.post(path, body(twin))).status).toBeLessThan(300);
    },
  );

  it.each(UNREADABLE)('is refused to mcp-publisher with %s', async (_what, text, problem, twin) => {
    const name = aName();
    const body = (member: string) => withMember(aDocument('server', name), member);
    const at = (verb: string) => `/registry/main/v0/${verb}`;
    const { json } = await service.post(at('validate'), body(text));
    expect(json).toMatchObject({ valid: false });
    expect(JSON.stringify(json)).toContain(problem.replace(/^x.*: /, ''));
    expectRefused(await service.post(at('publish'), body(text)), 422, 'unprocessable_document');
    expect((await service.post(at('validate'), body(twin))).json).toMatchObject({ valid: true });
    expect((await service.post(at('publish'), body(twin))).status).toBe(201);
  });
});

describe('a Kubernetes object that not every client could read', () => {
  const cluster = aCluster().runs();
  const service = watching(cluster, aService())
    .source('cluster', { kind: 'kubernetes' })
    .registry('main', { sources: ['cluster'] })
    .runs();

  it('is skipped with the reason', async () => {
    cluster.put('MCPServer', 'tools/half', exported('half', { 'registry-description': 'a\ud800' }));
    cluster.put('MCPServer', 'tools/whole', exported('whole', { 'registry-description': 'a\u{1f680}' }));
    await within(20_000, async () => {
      expect(await listed(service)).toEqual(['tools/whole@1.0.0']);
      const { skipped } = await syncOf(service);
      expect(skipped.map(({ reasons }) => reasons.join())).toEqual([
        expect.stringContaining('unpaired surrogate') as string,
      ]);
    });
  });
});

/** Every route that stores data from a PUT or POST and serves it again, with a valid body. */
const STORED: readonly (readonly [method: 'put' | 'post', path: string, body: Document])[] = [
  ['put', '/v1/sources/s', { git: { repository: 'https://git.example.com/a.git', branch: 'main', path: 'r.json' }, syncPolicy: { interval: '30m' }, filter: { names: { include: ['a/*'], exclude: ['b'] }, tags: { include: ['t'] } }, claims: { org: 'acme', team: ['a'] } }],
  ['put', '/v1/sources/s', { api: { endpoint: 'https://registry.example.com/x' }, syncPolicy: { interval: '30m' }, admission: { rules: [{ names: ['a/*'], action: 'reject', reason: 'why' }], rewrite: [{ registryType: 'npm', registryBaseUrl: 'https://npm.example.com/x' }] } }],
  ['put', '/v1/sources/s', { file: { url: 'https://files.example.com/x' }, syncPolicy: { interval: '30m' } }],
  ['put', '/v1/registries/r', { sources: ['published'], claims: { org: 'acme' }, publishClaims: { org: 'acme' } }],
  ['put', '/v1/blocks/b', { names: ['a/*'], packages: [{ registryType: 'npm', identifier: 'x', version: '1' }], remotes: ['https://x.example.com/*'], reason: 'why' }],
  ['put', '/v1/entries/server/io.acme%2Fstored/claims', { claims: { org: 'acme', team: ['a'] } }],
]; // oxfmt-ignore

/** Copies of a body in which one text, or the key of one member, contains half a character. */
function* withHalfCharacters(value: unknown): Generator<unknown> {
  if (typeof value === 'string') yield `${value}\ud800`;
  if (typeof value !== 'object' || value === null) return;
  for (const [key, item] of Object.entries(value)) {
    for (const changed of withHalfCharacters(item))
      yield Array.isArray(value) ? value.with(Number(key), changed) : { ...value, [key]: changed };
    if (!Array.isArray(value)) yield { ...value, [`${key}\udc00`]: item };
  }
}

describe('half a character in a body that is stored and served again', () => {
  beforeAll(async () => {
    await service.post('/v1/entries', { server: aDocument('server', 'io.acme/stored') });
  });

  it.each(STORED)('is refused at every place: %s %s %j', async (method, path, body) => {
    const isRemoved = path.startsWith('/v1/sources/') || path.startsWith('/v1/registries/');
    for (const changed of withHalfCharacters(body)) {
      const { status } = await service[method](path, changed as Document);
      expect(`${status} ${JSON.stringify(changed)}`).toMatch(/^400 /);
    }
    expect((await service[method](path, body)).status).toBeLessThan(300);
    if (isRemoved) expect((await service.delete(path)).status).toBe(204);
  });
});
