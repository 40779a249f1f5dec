import { describe, expect, it } from 'vitest';
import { ACME_WRITER } from '../support/callers.js';
import type { Document } from '../support/documents.js';
import { expectRefused } from '../support/matchers.js';
import {
  aDocument,
  aName,
  anyone,
  aPublication,
  aPublishingService,
  consumerAt,
  contentOf,
  entryAt,
  outcome,
  TYPES,
} from '../support/publishing.js';
import { aService } from '../support/service.js';

const CLAIMS = { org: 'acme', team: 'platform' };
const PUBLISHER = 'io.modelcontextprotocol.registry/publisher-provided';
const OFFICIAL = 'io.modelcontextprotocol.registry/official';
const LIMIT = 256 * 1024;
const FORGED = { status: 'deleted', isLatest: false, publishedAt: '1999-01-01T00:00:00Z' };

/** A publisher-provided block of the given size as compact JSON. */
function aBlock(bytes: number): Document {
  return { text: 'x'.repeat(bytes - '{"text":""}'.length) };
}

// Documents are returned unchanged, including unknown keys.
const KEPT: readonly [what: string, more: Document][] = [
  ['unknown keys', { 'x-own': { deep: [{ er: null }] }, extra: [1, 'two', false, {}] }],
  ['a publisher-provided block', { _meta: { [PUBLISHER]: { tool: 'ci', tags: ['a', 'b'], nested: { n: 1 } } } }],
  ['a publisher-provided block of 256 KiB', { _meta: { [PUBLISHER]: aBlock(LIMIT) } }],
  ['a publisher-provided block of two-byte characters', { _meta: { [PUBLISHER]: { text: 'ä'.repeat(LIMIT / 2 - 6) } } }],
  ['an empty publisher-provided block', { _meta: { [PUBLISHER]: {} } }],
  ['other blocks of _meta', { _meta: { 'com.example/own': { a: 1 }, [PUBLISHER]: { b: 2 } } }],
  ['another block of more than 256 KiB', { _meta: { 'com.example/own': aBlock(LIMIT + 1) } }],
  ['a forged official block', { _meta: { [OFFICIAL]: FORGED } }],
  ['numbers at their limits', { n: [0, -1, 1.5, 1e21, 5e-324, 1.7976931348623157e308, 2 ** 53] }],
  ['text in several scripts', { title: 'Ä 版 🚀 עברית \u200f', note: '\u202e\u0001\u007f\u2028\ufffe "\\/' }],
  ['unusual keys', { keys: { '': 1, ' ': 2, 'a.b': 3, constructor: 4, toString: 5, '10': 6, '9': 7 } }],
  ['90 levels', { deep: nested(90) }],
]; // oxfmt-ignore

const full = aPublishingService('full').runs();

describe.each(TYPES)('a %s', (type) => {
  const service = full;
  const writer = () => service.as(ACME_WRITER);

  it.each(type === 'server' ? KEPT : KEPT.slice(0, 2))(
    'is returned deep-equal with %s',
    async (_what, more) => {
      const name = aName();
      const document = aDocument(type, name, '1.0.0', more);
      const reply = await writer().post('/v1/entries', { [type]: document, claims: CLAIMS });
      expect(outcome(reply)).toBe('ok');
      const read = await writer().get(entryAt(type, name, '/versions/1.0.0'));
      const shown = await writer().get(consumerAt(type, name, '/versions/1.0.0'));
      const documents = [reply, read].map(({ json }) => (json as Document)[type]);
      documents.push(type === 'server' ? (shown.json as Document)['server'] : shown.json);
      for (const found of documents) expect(found).toEqual(document);
      for (const { json } of [reply, read])
        expect(json).toMatchObject({ _meta: { [OFFICIAL]: { status: 'active', isLatest: true } } });
    },
  );

  it.each([
    ['one byte over 64 KiB', aBlock(LIMIT + 1)],
    ['64 Ki characters of two bytes each', { text: 'ä'.repeat(LIMIT) }],
  ])('is refused with a publisher-provided block of %s', async (_what, block) => {
    const more = { _meta: { [PUBLISHER]: block } };
    const reply = await writer().post('/v1/entries', aPublication(type, aName(), CLAIMS, '1.0.0', more));
    expectRefused(reply, 400, 'invalid_document');
    expect((reply.json as { details: string[] }).details).toEqual([
      expect.stringMatching(
        new RegExp(`^${type}\\._meta\\.${PUBLISHER}: has \\d+ bytes as compact JSON, at most 262144 `),
      ),
    ]);
  });

  // Raw text of the document's member "x", which JSON.stringify could not write.
  it.each([
    ['the key __proto__', '{"__proto__":{"a":1}}', 'x.__proto__: '],
    ['a NUL character', '"a\\u0000"', 'x: contains a NUL'],
    ['a lone surrogate', '["\\ud83d"]', 'x[0]: contains an unpaired surrogate (half a character)'],
    ['a number beyond the range of doubles', '1e999', 'x: is a number that is too large'],
    ['101 levels', JSON.stringify(nested(100)), 'is nested more than 100 levels deep'],
  ])('is refused for %s', async (_what, text, problem) => {
    const publication = aPublication(type, aName(), CLAIMS, '1.0.0', { x: 'HERE' });
    const body = JSON.stringify(publication).replace('"HERE"', text);
    const before = await contentOf(service);
    const reply = await writer().post('/v1/entries', body);
    expectRefused(reply, 400, 'invalid_document');
    expect((reply.json as { error: string }).error).toContain(problem);
    expect(await contentOf(service)).toEqual(before);
  });

  it('is refused with one detail for each problem', async () => {
    const document = { ...aDocument(type, aName()), description: 7, version: '^1.0.0', title: ['x'] };
    const reply = await writer().post('/v1/entries', { [type]: document, claims: CLAIMS });
    expectRefused(reply, 400, 'invalid_document');
    const { error, details } = reply.json as { error: string; details: string[] };
    expect([...details].sort()).toEqual([
      `${type}.description: must be a string, not a number`,
      `${type}.title: must be a string, not an array`,
      `${type}.version: "^1.0.0" is a range, not one version such as "1.2.3"`,
    ]);
    for (const detail of details) expect(error).toContain(detail);
  });

  it('is refused with at most 20 problems', async () => {
    const icons = Array.from({ length: 50 }, () => ({}));
    const reply = await writer().post('/v1/entries', aPublication(type, aName(), CLAIMS, '1.0.0', { icons }));
    expectRefused(reply, 400, 'invalid_document');
    expect((reply.json as { details: string[] }).details).toHaveLength(20);
  });

  it.each([
    ['null', null],
    ['a string', 'text'],
  ])('is refused when it is %s', async (what, document) => {
    const reply = await writer().post('/v1/entries', { [type]: document, claims: CLAIMS });
    expectRefused(reply, 400, 'invalid_document');
    expect((reply.json as { details: string[] }).details).toEqual([`${type} must be an object, not ${what}`]);
  });

  it('is refused above 1 MiB: 400, or 413 for a much larger body', async () => {
    const big = aPublication(type, aName(), CLAIMS, '1.0.0', { x: 'x'.repeat(1024 * 1024) });
    expectRefused(await writer().post('/v1/entries', big), 400, 'invalid_document');
    const huge = aPublication(type, aName(), CLAIMS, '1.0.0', { x: 'x'.repeat(1300 * 1024) });
    expectRefused(await writer().post('/v1/entries', huge), 413, 'body_too_large');
    const name = aName();
    const fits = aPublication(type, name, CLAIMS, '1.0.0', { x: 'x'.repeat(1024 * 1024 - 1024) });
    expect(outcome(await writer().post('/v1/entries', fits))).toBe('ok');
    expect((await anyone(service).get(entryAt(type, name, '/versions/1.0.0'))).json).toMatchObject(fits);
  });
});

function nested(levels: number): unknown {
  return levels === 0 ? 'end' : [nested(levels - 1)];
}

describe('a document that parsing would change', () => {
  const service = aService().source('published', { kind: 'managed' }).runs();
  const published = (members: string) =>
    service.post(
      '/v1/entries',
      `{"server":{"name":"io.acme/spelled","description":"A","version":"1.0.0"${members}}}`,
      { 'Content-Type': 'application/json' },
    );

  it.each([
    [
      'a number with more digits than a double has',
      ',"x":{"n":12345678901234567891}',
      '12345678901234567891 has more digits',
    ],
    ['a number of 400 digits', `,"x":${'1'.repeat(400)}`, 'has more digits'],
    ['a duplicate key', ',"x":{"a":1,"a":2}', 'server.x.a'],
    ['a duplicate key with another escape', ',"x":{"a":1,"\\u0061":2}', 'server.x.a'],
  ])('is refused for %s', async (_what, members, path) => {
    const reply = await published(members);
    expect(reply.status).toBe(400);
    expect((reply.json as { error: string }).error).toContain(path);
  });

  it('is accepted when nothing is lost, up to 1 MiB', async () => {
    const filler = 'x'.repeat(1024 * 1024 - 300);
    const reply = await published(`,"x":{"n":9007199254740991,"a":1,"b":"${filler}"}`);
    expect(reply.status).toBe(201);
    expect(reply.text).toContain('9007199254740991');
  });
});
