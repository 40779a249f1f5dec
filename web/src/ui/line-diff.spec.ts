import { expect, it } from 'vitest';
import { diffJson } from './line-diff.js';

const shown = (before: unknown, after: unknown) =>
  diffJson(before, after).map((line) => (line.sign === '…' ? `…${line.count}` : `${line.sign}${line.text}`));

it.each([
  ['equal documents', { a: 1 }, { a: 1 }, ['…3']],
  ['members in another order', { a: 1, b: 2 }, { b: 2, a: 1 }, ['…4']],
  ['a changed member', { a: 1 }, { a: 2 }, [' {', '-  "a": 1', '+  "a": 2', ' }']],
  ['an added member', { a: 1 }, { a: 1, b: 2 }, [' {', '-  "a": 1', '+  "a": 1,', '+  "b": 2', ' }']],
  [
    'an item added to the front of a list',
    { list: ['x', 'y'] },
    { list: ['w', 'x', 'y'] },
    [' {', '   "list": [', '+    "w",', '     "x",', '     "y"', '   ]', '…1'],
  ],
  ['a member named __proto__', JSON.parse('{"__proto__":1}'), {}, ['-{', '-  "__proto__": 1', '-}', '+{}']],
])('diffJson: %s', (_, before, after, lines) => {
  expect(shown(before, after)).toEqual(lines);
});

it('diffJson: leaves out unchanged lines that are far from a change', () => {
  const list = Array.from({ length: 20 }, (_, index) => index);
  expect(shown(list, [...list, 20])).toEqual([
    '…17',
    '   16,',
    '   17,',
    '   18,',
    '-  19',
    '+  19,',
    '+  20',
    ' ]',
  ]);
});

it('diffJson: shows every line of documents that are too long to compare', () => {
  const long = (by: number) => Array.from({ length: 2_100 }, (_, index) => index * 2 + by);
  const lines = diffJson(long(0), long(1));
  expect(lines.filter(({ sign }) => sign === '-')).toHaveLength(2_100);
  expect(lines.filter(({ sign }) => sign === '+')).toHaveLength(2_100);
});
