import { describe, expect, it } from 'vitest';
import { lineOf, parseJson } from './json-lines.js';

const valueOf = (text: string) => {
  const parsed = parseJson(text);
  return 'value' in parsed ? { value: parsed.value } : 'rejected';
};
const asJson = (text: string) => {
  try {
    return { value: JSON.parse(text) as unknown };
  } catch {
    return 'rejected';
  }
};

describe('parseJson agrees with JSON.parse', () => {
  it.each([
    '{}',
    '[]',
    ' [1, -2.5e3, 0, true, false, null, "a\\n\\u00e9\\"b"] ',
    '{"a": {"b": [{"c": 1}]}, "a": 2}',
    '{"__proto__": 1}',
    '1 2',
    '',
    '{"a":1,}',
    '[1,]',
    '{a:1}',
    "{'a':1}",
    '01',
    '+1',
    '.5',
    '1.',
    'NaN',
    '"a\nb"',
    '"\\x"',
    '"a\tb"',
    '{"a" 1}',
    '[1 2]',
    '\ufeff{}',
    '"\ud800"',
    '{"a":1}}',
    '[',
    'nul',
  ])('%j', (text) => expect(valueOf(text)).toEqual(asJson(text)));

  it('except that it rejects excessive nesting', () => {
    expect(valueOf('['.repeat(1_000) + ']'.repeat(1_000))).toBe('rejected');
  });
});

const DOCUMENT = '{\n  "name": "a",\n  "packages": [\n    { "transport": {\n      "url": "x" } }\n  ]\n}';

it.each([
  ['name', 2],
  ['packages', 3],
  ['packages[0]', 4],
  ['packages[0].transport.url', 5],
  ['packages[0].transport.type', 4],
  ['packages[7].transport', 3],
  ['description', 1],
  ['', 1],
])('finds %s, or its nearest ancestor, on line %d', (path, line) => {
  const parsed = parseJson(DOCUMENT);
  expect('lines' in parsed && lineOf(parsed.lines, path)).toBe(line);
});

it.each([
  ['{\n  "name": "a"\n  "b": 1\n}', 3, 'Expected a comma or }, not "\\""'],
  ['{\n  "name": \n', 3, 'Expected a value, but the document ends'],
  ['{}\n{}', 2, 'Unexpected text after the document'],
])('reports the syntax error in %j', (text, line, message) =>
  expect(parseJson(text)).toEqual({ line, message }),
);
