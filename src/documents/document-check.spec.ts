import { createHash } from 'node:crypto';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { inSoak } from '../../test/support/soak.js';
import { checkDocument, formatProblem, publisherBlockProblem } from './document-check.js';
import { MAX_DOCUMENT_BYTES } from './document-problem.js';
import { PUBLISHER_PROVIDED } from './document-rules.js';
import type { EntryType } from './entry-types.js';

const SERVER = { name: 'io.acme/a', description: 'd', version: '1.0.0' };
const SKILL = { namespace: 'io.acme', name: 'review', description: 'd', version: '1.0.0' };
const GOOD: [EntryType, Record<string, unknown>][] = [
  ['server', SERVER],
  ['skill', SKILL],
];

const parsed = (text: string): unknown => JSON.parse(text);
/** A valid document with one additional member, given as text. */
const withMember = (good: object, member: string) =>
  parsed(`${JSON.stringify(good).slice(0, -1)},${member}}`);
const nested = (levels: number) => `${'['.repeat(levels)}${']'.repeat(levels)}`;
const sentences = (type: EntryType, document: unknown) =>
  checkDocument(type, document).problems.map(formatProblem);

describe('a published document', () => {
  it('becomes the version to store, with compact text and its digest', () => {
    const document = { ...SERVER, title: 'Émile', _meta: { other: [1] } };
    const text = JSON.stringify(document);
    expect(checkDocument('server', document)).toEqual({
      problems: [],
      version: {
        type: 'server',
        name: 'io.acme/a',
        version: '1.0.0',
        document: Buffer.from(text),
        digest: createHash('sha256').update(text).digest(),
        status: 'active',
        searchText: 'io.acme/a\némile\nd',
      },
    });
  });

  it('is a skill with its namespace and name, and the status in the document', () => {
    expect(checkDocument('skill', { ...SKILL, status: 'deprecated' }).version).toMatchObject({
      name: 'io.acme/review',
      status: 'deprecated',
    });
  });

  it.each(GOOD)('is a valid %s, or rejected with path and message', (type, good) => {
    expect(checkDocument(type, { ...good, description: 5, version: '^1' }).problems).toEqual([
      { path: 'description', message: 'must be a string, not a number' },
      { path: 'version', message: '"^1" is a range, not one version such as "1.2.3"' },
    ]);
  });

  it.each([
    ['"__proto__":{"a":1}', '__proto__: is a forbidden key', '"proto":{"a":1}'],
    [
      '"_meta":{"a":[{"__proto__":1}]}',
      '_meta.a[0].__proto__: is a forbidden key',
      '"_meta":{"a":["__proto__"]}',
    ],
    ['"x":"a\\u0000"', 'x: contains a NUL character', '"x":"a\\\\u0000"'],
    ['"x":{"\\u0000":1}', 'x.\u0000: its key contains a NUL', '"x":{"\\u0001":1}'],
    [
      '"x":[0,"\\ud83d"]',
      'x[1]: contains an unpaired surrogate (half a character)',
      '"x":[0,"\\ud83d\\ude80"]',
    ],
    [
      '"\\udc00":0',
      '\udc00: its key contains an unpaired surrogate (half a character)',
      '"\\ud800\\udc00":0',
    ],
    ['"x":{"n":-1e999}', 'x.n: is a number that is too large', '"x":{"n":-1e300}'],
    [`"x":${nested(100)}`, 'x[0][0]', `"x":${nested(99)}`],
    [`"x":${nested(50_000)}`, 'x[0][0]', `"x":${nested(2)}`],
    ['"title":"t\\u0000"', 'title: contains a NUL', '"title":"t"'],
  ])('must not contain $0', (member, problem, twin) => {
    for (const [type, good] of GOOD) {
      expect(
        sentences(type, withMember(good, member)).map((sentence) => sentence.slice(0, problem.length)),
      ).toContain(problem);
      const document = withMember(good, twin);
      const { problems, version } = checkDocument(type, document);
      expect(problems).toEqual([]);
      expect(parsed(version?.document.toString() ?? '')).toEqual(document);
    }
  });

  it('is rejected beyond 100 levels, with a short path', () => {
    expect(checkDocument('server', withMember(SERVER, `"x":${nested(100)}`)).problems).toEqual([
      { path: expect.stringMatching(/^x(\[0\]){40,70}/), message: 'is nested more than 100 levels deep' },
    ]);
  });

  it('has at most 1 MiB in UTF-8', () => {
    const room = MAX_DOCUMENT_BYTES - JSON.stringify({ ...SERVER, x: '' }).length;
    expect(sentences('server', { ...SERVER, x: 'a'.repeat(room) })).toEqual([]);
    expect(sentences('server', { ...SERVER, x: `é${'a'.repeat(room - 1)}` })).toEqual([
      'has 1048577 bytes as compact JSON, at most 1048576 (1 MiB) are allowed',
    ]);
  });

  it.each([undefined, null, 5, 'x', [], [[]], true, {}])('is rejected without an exception: %j', (value) => {
    for (const [type] of GOOD) expect(checkDocument(type, value).problems).not.toEqual([]);
  });

  it('gives at most 20 problems or a text that parses to the document, and never throws', () => {
    const keys = fc.constantFrom(
      'name',
      'version',
      '_meta',
      'packages',
      'icons',
      '__proto__',
      'constructor',
      'toJSON',
      'length',
    );
    const value = fc.jsonValue({ maxDepth: 3, stringUnit: 'binary' });
    const document = fc.tuple(fc.dictionary(keys, value), fc.constantFrom({}, SERVER, SKILL));
    fc.assert(
      fc.property(document, fc.constantFrom<EntryType>('server', 'skill'), ([odd, good], type) => {
        const given = parsed(JSON.stringify({ ...odd, ...good }));
        const { problems, version } = checkDocument(type, given);
        expect(problems.length === 0).toBe(version !== undefined);
        expect(problems.length).toBeLessThanOrEqual(20);
        for (const problem of problems) expect(problem.message).not.toBe('');
        if (version) expect(parsed(version.document.toString())).toEqual(given);
      }),
      { numRuns: inSoak(300, 30) },
    );
  });
});

describe('a synced document', () => {
  const check = (text: string, keys: number) => checkDocument('server', parsed(text), { text, keys });

  it('is stored unchanged, including unusual characters', () => {
    const text =
      '{"name":"io.acme/a","description":"\\u0064 \\ud83d\\ude80","version":"1","n":1e-999,"odd":"\\u0000","__proto__":1e300}';
    expect(check(text, 6).version?.document.toString()).toBe(text);
  });

  it.each([
    ['"x":[0,"\\ud83d"]', 'x[1]: contains an unpaired surrogate (half a character)', '"x":[0,"\\ud83d\\ude80"]'],
    ['"\\udc00":0', '\udc00: its key contains an unpaired surrogate (half a character)', '"\\ud800\\udc00":0'],
    ['"x":[-1e400]', 'x[0]: is a number that is too large', '"x":[-1e308]'],
    [`"x":[${'0,'.repeat(19_994)}0]`, 'has more than 20000 values, including objects and lists', `"x":[${'0,'.repeat(19_993)}0]`],
  ])('must be readable for every client, like a published one: %.40s', (member, problem, twin) => {
    const given = (more: string) => `{"$schema":"https://x.example","name":"io.acme/a","description":"d","version":"1",${more}}`;
    const problems = (more: string) => {
      const document = parsed(given(more));
      const synced = checkDocument('server', document, { text: given(more), keys: 5 }).problems;
      expect(synced).toEqual(checkDocument('server', document).problems);
      return synced.map(formatProblem);
    };
    expect(problems(member)).toEqual([problem]);
    expect(problems(twin)).toEqual([]);
  }); // oxfmt-ignore

  it('is rejected for a duplicate key, with its path', () => {
    const text = '{"name":"io.acme/a","description":"d","version":"1","_meta":{"a":1,"\\u0061":2}}';
    expect(check(text, 6).problems).toEqual([
      { path: '_meta.a', message: 'the key is given twice in one object' },
    ]);
    expect(check(text.replace('\\u0061', 'b'), 6).problems).toEqual([]);
  });
});

it.each([
  ['within the limit', { [PUBLISHER_PROVIDED]: { text: 'x'.repeat(989) } }, undefined],
  ['beyond the limit', { [PUBLISHER_PROVIDED]: { text: 'x'.repeat(990) } }, 1_001],
  ['of two-byte characters beyond the limit', { [PUBLISHER_PROVIDED]: { text: 'ä'.repeat(495) } }, 1_001],
  [
    'within the limit, next to another long block',
    { [PUBLISHER_PROVIDED]: {}, other: 'x'.repeat(2_000) },
    undefined,
  ],
  ['missing', { other: 'x'.repeat(2_000) }, undefined],
])('measures a publisher block that is %s', (_what, _meta, bytes) => {
  const problem = publisherBlockProblem(Buffer.from(JSON.stringify({ ...SERVER, _meta })), 1_000);
  expect(problem?.message).toBe(
    bytes && `has ${bytes} bytes as compact JSON, at most 1000 are allowed (limits.publisherMeta)`,
  );
});
