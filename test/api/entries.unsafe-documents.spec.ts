import { describe, expect, it } from 'vitest';
import { aWatchedCluster, exported, listed, syncOf } from '../support/cluster-objects.js';
import type { Document } from '../support/documents.js';
import { expectRefused } from '../support/matchers.js';
import { aDocument, aName, entryAt, listAt, outcome, type Type, TYPES } from '../support/publishing.js';
import { aService } from '../support/service.js';
import { within } from '../support/within.js';

type Unsafe = readonly [path: string, change: Document, twin: Document];

const PACKAGE = {
  registryType: 'npm',
  identifier: '@acme/x',
  version: '1.0.0',
  transport: { type: 'stdio' },
};
const REMOTE = { type: 'sse', url: 'https://example.com/mcp' };
const SCRIPT = 'javascript:alert(document.domain)';
const URL = 'https://example.com/x';

const BOTH: readonly Unsafe[] = [
  ['repository.url', { repository: { url: SCRIPT, source: 'git' } }, { repository: { url: URL, source: 'git' } }],
  ['icons[0].src', { icons: [{ src: SCRIPT }] }, { icons: [{ src: URL }] }],
  ['icons[0].src', { icons: [{ src: 'data:text/html,x' }] }, { icons: [{ src: 'http://example.com/data:' }] }],
  ['title', { title: 'Pay\u202etnem' }, { title: 'Payment' }],
  ['title', { title: 'Pay\nment' }, { title: 'Pay ment' }],
  ['description', { description: 'a\0b' }, { description: 'a\n\tb' }],
  ['description', { description: '\u001b[2J' }, { description: '[2J' }],
  ['description', { description: 'a\u2066b\u2069' }, { description: 'a\u200fb' }],
  ['title', { title: 'Pay\u200bment' }, { title: 'Pay\u00a0ment' }],
  ['title', { title: 'Pay\u200dment' }, { title: '\u{1f469}\u{1f3fd}\u200d\u{1f4bb} Payment \u{1f3f3}\ufe0f\u200d\u{1f308}' }],
  ['title', { title: '\u{1f469}\u200d' }, { title: '\u{1f469}' }],
  ['title', { title: '\u{1f469}\u200d\u200d\u{1f4bb}' }, { title: '\u{1f469}\u{1f4bb}' }],
  ['description', { description: 'a\u200cb' }, { description: 'a\u200eb' }],
  ['description', { description: 'a\u2060b' }, { description: 'a\u205fb' }],
  ['description', { description: '\ufeffa' }, { description: '\ufe0fa' }],
  ['description', { description: 'a\u{e0041}\u{e007f}' }, { description: '葛\u{e0100}' }],
  ['description', { description: 'a\u{e0100}' }, { description: '葛\u{e01ef}' }],
  ['version', { version: '1\u200b' }, { version: '1-0' }],
  ['version', { version: '..' }, { version: '1..2' }],
  ['version', { version: '.' }, { version: '.1' }],
  ['version', { version: 'latest' }, { version: 'latest-1' }],
  ['version', { version: '1 2' }, { version: '1_2' }],
  ['version', { version: '1/2' }, { version: '1-2' }],
  ['version', { version: '1\u00852' }, { version: '1+2' }],
]; // oxfmt-ignore

const UNSAFE: Record<Type, readonly Unsafe[]> = {
  server: [
    ...BOTH,
    ['$schema', { $schema: SCRIPT }, { $schema: URL }],
    ['websiteUrl', { websiteUrl: SCRIPT }, { websiteUrl: URL }],
    ['websiteUrl', { websiteUrl: 'vbscript://x/' }, { websiteUrl: 'HTTP://example.com' }],
    ['packages[0].registryBaseUrl', { packages: [{ ...PACKAGE, registryBaseUrl: 'file:///etc' }] }, { packages: [{ ...PACKAGE, registryBaseUrl: URL }] }],
    ['packages[0].transport.url', { packages: [{ ...PACKAGE, transport: { ...REMOTE, url: SCRIPT } }] }, { packages: [{ ...PACKAGE, transport: REMOTE }] }],
    ['remotes[0].url', { remotes: [{ ...REMOTE, url: SCRIPT }] }, { remotes: [REMOTE] }],
    ['remotes[0].url', { remotes: [{ ...REMOTE, url: `${URL}\u202e` }] }, { remotes: [{ ...REMOTE, url: `${URL}/{id}` }] }],
    ['remotes[0].headers[0].name', { remotes: [{ ...REMOTE, headers: [{ name: 'X\r\nY' }] }] }, { remotes: [{ ...REMOTE, headers: [{ name: 'X' }] }] }],
  ],
  skill: [
    ...BOTH,
    ['icons[0].src', { icons: [{ src: '\u0001javascript:x' }] }, { icons: [{ src: './icon.png' }] }],
    ['icons[0].src', { icons: [{ src: 'java\nscript:x' }] }, { icons: [{ src: '/javascript.png' }] }],
    ['packages[0].url', { packages: [{ registryType: 'git', url: SCRIPT }] }, { packages: [{ registryType: 'git', url: URL }] }],
    ['provenance.repository_uri', { provenance: { repository_uri: SCRIPT } }, { provenance: { repository_uri: URL, sigstore_url: '' } }],
  ],
}; // oxfmt-ignore

// reference/catalog, reference/publishing: clients turn URLs into links and show text as it is.
describe.each(TYPES)('a %s that is unsafe to display', (type) => {
  const rows = UNSAFE[type];
  const documents = rows.map(([, change, twin], index) => ({
    bad: { ...aDocument(type, `io.acme/bad-${index}`), ...change },
    good: { ...aDocument(type, `io.acme/good-${index}`), ...twin },
  }));
  const service = aService()
    .source('published', { kind: 'managed' })
    .source('file', { [`${type}s`]: documents.flatMap(({ bad, good }) => [bad, good]) })
    .registry('main', { sources: ['file'] })
    .runs();

  it.each(rows)('is refused for its %s: %j', async (path, change, twin) => {
    const name = aName();
    const send = (more: Document) =>
      service.post('/v1/entries', { [type]: { ...aDocument(type, name), ...more } });
    const reply = await send(change);
    expectRefused(reply, 400, 'invalid_document');
    const { details } = reply.json as { details: string[] };
    for (const detail of details)
      expect(detail).toMatch(new RegExp(`^${type}\\.${path.replace(/[[\]$.]/g, '\\$&')}:`));
    expect((await service.get(entryAt(type, name))).status).toBe(404);
    expect(outcome(await send(twin))).toBe('ok');
  });

  it('is skipped by a sync with its path as the reason, and the others are served', async () => {
    const { counts, skipped } = await service.synced('file');
    expect(counts).toMatchObject({ entries: rows.length, skipped: rows.length });
    expect(skipped.map(({ reasons: [reason] }) => reason?.split(':', 1)[0])).toEqual(
      rows.map(([path]) => path),
    );
    const { text } = await service.get(`${listAt(type)}?limit=100`);
    expect(text).not.toContain('bad-');
    for (const index of rows.keys()) expect(text).toContain(`good-${index}`);
  });
});

describe('a Kubernetes object that is unsafe to display', () => {
  const { cluster, service } = aWatchedCluster();

  it('is skipped with a reason', async () => {
    cluster.put('MCPServer', 'tools/script', exported('script', { 'registry-url': SCRIPT }));
    cluster.put('MCPServer', 'tools/nul', exported('nul', { 'registry-description': 'a\0b' }));
    cluster.put('MCPServer', 'tools/bidi', exported('bidi', { 'registry-title': 'a\u202eb' }));
    cluster.put('MCPServer', 'tools/lines', exported('lines', { 'registry-description': 'a\n\tb' }));
    await within(20_000, async () => {
      expect(await listed(service)).toEqual(['tools/lines@1.0.0']);
      const { skipped } = await syncOf(service);
      expect(skipped.map(({ name }) => name).sort()).toEqual(
        ['bidi', 'nul', 'script'].map((name) => `com.toolhive.k8s.tools/${name}`),
      );
      const [bidi, nul, script] = skipped
        .sort((one, other) => one.name.localeCompare(other.name))
        .map(({ reasons }) => reasons.join());
      expect(bidi).toContain('title: ');
      expect(nul).toContain('description: ');
      expect(script).toContain('must begin with http:// or https://');
    });
  });
});
