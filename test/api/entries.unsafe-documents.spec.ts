import { describe, expect, it } from 'vitest';
import { aWatchedCluster, exported, listed, syncOf } from '../support/cluster-objects.js';
import type { Document } from '../support/documents.js';
import { expectRefused } from '../support/matchers.js';
import { aDocument, aName, entryAt, listAt, outcome, type Type, TYPES } from '../support/publishing.js';
import { aService } from '../support/service.js';
import { within } from '../support/within.js';

type Unsafe = readonly [path: string, change: Document, twin: Document];

const REMOTE = { type: 'sse', url: 'https://example.com/mcp' };
const SCRIPT = 'javascript:alert(document.domain)';
const URL = 'https://example.com/x';

// The rules have their full table in src/documents/document-rules.spec.ts.
const BOTH: readonly Unsafe[] = [
  ['icons[0].src', { icons: [{ src: SCRIPT }] }, { icons: [{ src: URL }] }],
  ['title', { title: 'Pay\u202etnem' }, { title: 'Payment' }],
  ['description', { description: 'a\0b' }, { description: 'a\n\tb' }],
  ['version', { version: '..' }, { version: '1..2' }],
];

const UNSAFE: Record<Type, readonly Unsafe[]> = {
  server: [...BOTH, ['remotes[0].url', { remotes: [{ ...REMOTE, url: SCRIPT }] }, { remotes: [REMOTE] }]],
  skill: BOTH,
};

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
