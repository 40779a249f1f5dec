import { expect, it } from 'vitest';
import { blocksOf, inlinesOf } from './markdown.js';

it('reads the common part of Markdown', () => {
  const text = [
    '---',
    'name: review',
    '---',
    '# Review ##',
    'First line',
    'second line',
    '',
    '- one',
    '  goes on',
    '* two',
    '1. ordered',
    '',
    '> quoted',
    '> twice',
    '```sh',
    '# no heading',
    '```',
    'end',
  ].join('\r\n');
  expect(blocksOf(text)).toEqual([
    { kind: 'code', text: 'name: review' },
    { kind: 'heading', level: 1, line: 'Review' },
    { kind: 'paragraph', line: 'First line second line' },
    { kind: 'list', isOrdered: false, items: ['one goes on', 'two', 'ordered'] },
    { kind: 'quote', line: 'quoted twice' },
    { kind: 'code', text: '# no heading' },
    { kind: 'paragraph', line: 'end' },
  ]);
});

it.each([
  ['a `b` **c** *d*', ['text:a ', 'code:b', 'text: ', 'strong:c', 'text: ', 'emphasis:d']],
  ['[docs](https://example.com/a)', ['link:docs']],
  ['![picture](https://evil.example/pixel.png)', ['text:picture']],
  ['<img src=x onerror=alert(1)>', ['text:<img src=x onerror=alert(1)>']],
  ['2 * 3 * 4', ['text:2 * 3 * 4']],
])('reads %s', (line, parts) => {
  expect(inlinesOf(line).map(({ kind, text }) => `${kind}:${text}`)).toEqual(parts);
});

it.each([
  '---',
  '```',
  '> '.repeat(50_000),
  '- '.repeat(50_000),
  '*a '.repeat(5_000),
  '[a]('.repeat(5_000),
  '#'.repeat(9_000),
])('reads odd text without backtracking: %#', (text) => {
  const blocks = blocksOf(text);
  const parts = blocks.flatMap((block) => ('line' in block ? inlinesOf(block.line) : []));
  expect(blocks.length + parts.length).toBeLessThan(10_000);
});

it('shows an unclosed frontmatter and an unclosed fence', () => {
  expect(blocksOf('---\nname: x')).toEqual([{ kind: 'paragraph', line: '--- name: x' }]);
  expect(blocksOf('```\ncode')).toEqual([{ kind: 'code', text: 'code' }]);
});
