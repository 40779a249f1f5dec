import { describe, expect, it } from 'vitest';
import { cutAtWord, documentDescriptionOf, documentNameOf } from './derived-text.js';

describe('a name', () => {
  it.each([
    ['code-review', 'code-review'],
    ['Code Review', 'code-review'],
    ['wordpress.com', 'wordpress-com'],
    ['  (PDF) & more!  ', 'pdf-more'],
    ['a--b', 'a--b'],
    ['Ünïcode', 'n-code'],
    ['x', undefined],
    ['', undefined],
    ['日本語', undefined],
    ['__proto__', 'proto'],
    ['a'.repeat(64), 'a'.repeat(64)],
    ['a'.repeat(65), undefined],
  ])('%j → %j', (text, name) => expect(documentNameOf(text)).toBe(name));
});

describe('text over a limit', () => {
  it.each([
    ['short', 10, 'short'],
    ['ten chars!', 10, 'ten chars!'],
    ['one two three', 10, 'one two…'],
    ['one two  three', 9, 'one two…'],
    ['onetwothree', 10, 'onetwothr…'],
    ['one two', 4, 'one…'],
    ['😀😀😀😀😀', 4, '😀😀😀…'],
    ['😀😀😀😀', 4, '😀😀😀😀'],
    ['line one\nline two', 12, 'line one…'],
  ])('%j, %i', (text, limit, cut) => {
    expect(cutAtWord(text, limit)).toBe(cut);
    expect([...cut].length).toBeLessThanOrEqual(limit);
  });
});

it.each([
  [' Reviews\r\ncode. \n', 'Reviews\ncode.'],
  ['', undefined],
  [7, undefined],
])('the description %j becomes %j', (given, text) => expect(documentDescriptionOf(given)).toBe(text));
