import { basename } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { CATALOGUES } from '../support/catalogues.js';
import { aServer, type Document } from '../support/documents.js';
import type { Reply } from '../support/http.js';
import { expectRefused } from '../support/matchers.js';
import { aService } from '../support/service.js';
import { inSoak } from '../support/soak.js';

interface Catalogue {
  data: { servers: Document[]; skills?: Document[]; plugins?: Document[] };
}

interface Attempt {
  readonly type: 'server' | 'skill' | 'plugin';
  readonly document: Document;
  readonly reply: Reply;
}

interface Refusal {
  code: string;
  error: string;
  details: string[];
}

/** In `npm test`, some documents of a long catalog. */
const MOST = inSoak(Infinity, 60);
const some = <T>(all: readonly T[]): T[] =>
  all.filter((_, index) => index % Math.max(1, Math.ceil(all.length / MOST)) === 0);

// Each file is also synced as a source: publishing must accept what the sync accepts, and refuse what it skips.
describe.each(CATALOGUES.map(({ path, text }) => ({ file: basename(path), whole: text })))(
  'the documents of $file, published one by one',
  ({ file, whole }) => {
    const catalogue = JSON.parse(whole) as Catalogue;
    const [servers, skills, plugins] = (['servers', 'skills', 'plugins'] as const).map((type) =>
      some(catalogue.data[type] ?? []),
    ) as [Document[], Document[], Document[]];
    const text = JSON.stringify({ ...catalogue, data: { ...catalogue.data, servers, skills, plugins } });
    const service = aService()
      .source('tools', { kind: 'managed' })
      .source('file', { text })
      .registry('published', { sources: ['tools'] })
      .registry('synced', { sources: ['file'] })
      .runs();
    const attempts: Attempt[] = [];
    beforeAll(async () => {
      const all = [['server', servers] as const, ['skill', skills] as const, ['plugin', plugins] as const];
      for (const [type, documents] of all)
        for (const document of documents)
          attempts.push({
            type,
            document,
            reply: await service.post('/v1/entries', { [type]: document }),
          });
    });
    const withStatus = (...statuses: number[]) =>
      attempts.filter(({ reply }) => statuses.includes(reply.status));

    it('are accepted, or refused as invalid_document or version_exists', () => {
      const accepted = new Set<string>();
      for (const { type, document, reply } of attempts) {
        if (reply.status === 201) {
          expect(accepted).not.toContain(keyOf(type, document));
          accepted.add(keyOf(type, document));
        } else if (reply.status === 409) {
          expectRefused(reply, 409, 'version_exists');
          expect(accepted).toContain(keyOf(type, document));
        } else expectRefused(reply, 400, 'invalid_document');
      }
      console.log(
        `${file}: ${accepted.size} published, ${withStatus(409).length} already exist, ${withStatus(400).length} refused`,
      );
    });

    it('are accepted and refused like in a sync', async () => {
      const { counts } = await service.synced('file');
      expect(counts).toMatchObject({
        entries: withStatus(201).length,
        skipped: withStatus(400, 409).length,
      });
    });

    it('are returned deep-equal by every route', async () => {
      for (const { type, document, reply } of withStatus(201)) {
        const path = `${encodeURIComponent(nameOf(type, document))}/versions/${encodeURIComponent(String(document['version']))}`;
        expect(reply.json[type]).toEqual(document);
        const stored = (await service.get(`/v1/entries/${type}/${path}`)).json;
        expect(stored[type]).toEqual(document);
        if (type !== 'server') continue;
        const read = await service.get(`/registry/published/v0.1/servers/${path}`);
        expect((read.json as { server: Document }).server).toEqual(document);
      }
    });

    it('are refused with the path of each problem', () => {
      for (const { type, document, reply } of withStatus(400)) {
        const { error, details } = reply.json as Refusal;
        expect(details.length).toBeGreaterThan(0);
        for (const detail of details) {
          expect(error).toContain(detail);
          expect([detail, pointsIntoDocument(type, document, detail)]).toEqual([detail, true]);
        }
      }
    });
  },
);

describe('a server with one invalid field', () => {
  const service = aService()
    .source('tools', { kind: 'managed' })
    .registry('main', { sources: ['tools'] })
    .runs();

  it.each<[string, Document, string]>([
    ['without a description', { description: undefined }, 'server.description: is required'],
    ['with a number for a title', { title: 7 }, 'server.title: must be a string, not a number'],
    [
      'with a remote without an address',
      { remotes: [{ type: 'sse' }] },
      'server.remotes[0].url: is required for a transport of type "sse"',
    ],
    [
      'whose version is a range',
      { version: '^1.0.0' },
      'server.version: "^1.0.0" is a range, not one version such as "1.2.3"',
    ],
  ])('is refused with its path: %s', async (_how, broken, detail) => {
    const name = `io.acme/broken-${detail.length}`;
    const refused = await service.post('/v1/entries', { server: aServer(name, '1.0.0', broken) });
    expectRefused(refused, 400, 'invalid_document');
    expect((refused.json as Refusal).details).toEqual([detail]);
    const allowed = await service.post('/v1/entries', { server: aServer(name) });
    expect(allowed.status).toBe(201);
  });
});

function nameOf(type: string, { namespace, name }: Document): string {
  return type === 'server' ? String(name) : `${String(namespace)}/${String(name)}`;
}

function keyOf(type: string, document: Document): string {
  return `${type} ${nameOf(type, document)}@${String(document['version'])}`;
}

/** Whether the path before the colon exists, apart from a missing last key. */
function pointsIntoDocument(type: string, document: Document, detail: string): boolean {
  const [path = ''] = detail.split(': ', 1);
  if (!path.startsWith(`${type}.`)) return false;
  const steps = path.slice(type.length + 1).match(/[^.[\]]+/g) ?? [];
  let place: unknown = document;
  for (const [index, step] of steps.entries()) {
    if (typeof place !== 'object' || place === null) return false;
    if (!Object.hasOwn(place, step)) return index === steps.length - 1;
    place = (place as Document)[step];
  }
  return true;
}
