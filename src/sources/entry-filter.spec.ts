import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { matchesGlob, passesFilter } from './entry-filter.js';

describe('a glob', () => {
  it.each([
    ['*', '', true],
    ['*', 'io.acme/a', true],
    ['', '', true],
    ['', 'a', false],
    ['io.acme/*', 'io.acme/a', true],
    ['io.acme/*', 'io.acme', false],
    ['io.*', 'io.acme/a/b', true],
    ['*/b', 'io.acme/b', true],
    ['*/b', 'io.acme/bb', false],
    ['da?a', 'data', true],
    ['da?a', 'daa', false],
    ['?', '🚀', true],
    ['*acme*', 'io.acme/a', true],
    ['a.c', 'abc', false],
    ['[ab]', 'a', false],
    ['(a|b)', 'a', false],
    ['\\*', 'a', false],
  ])('%j matches %j: %s', (pattern, name, answer) => expect(matchesGlob(pattern, name)).toBe(answer));

  it('agrees with an equivalent regular expression', () => {
    const letters = (set: string[]) =>
      fc.array(fc.constantFrom(...set), { maxLength: 8 }).map((list) => list.join(''));
    fc.assert(
      fc.property(letters(['a', 'b', '/', '*', '?']), letters(['a', 'b', '/']), (pattern, name) => {
        const expression = new RegExp(`^${pattern.replaceAll('*', '.*').replaceAll('?', '.')}$`, 's');
        expect(matchesGlob(pattern, name)).toBe(expression.test(name));
      }),
      { numRuns: 2_000 },
    );
  });

  it('takes polynomial time where a regular expression takes exponential time', () => {
    expect(matchesGlob(`${'*a'.repeat(500)}b`, 'a'.repeat(3_000))).toBe(false);
  });
});

describe('a filter', () => {
  const words = Array.from({ length: 200 }, (_, index) => `*word${index}*`);
  const tags = Array.from({ length: 100 }, (_, index) => `tag-of-20-chars-${1_000 + index}`);

  it('compares the longest lists of globs with many tags', () => {
    expect(passesFilter({ tags: { exclude: words } }, 'io.acme/a', tags)).toBe(true);
    expect(passesFilter({ tags: { include: words } }, 'io.acme/a', [...tags, 'a word199'])).toBe(true);
    expect(passesFilter({ tags: { exclude: words } }, 'io.acme/a', [...tags, 'a word199'])).toBe(false);
  });

  // This would take minutes without the limit on comparisons.
  it('rejects an entry whose tags take too long to compare', () => {
    const globs = Array.from({ length: 200 }, () => `*${'b'.repeat(253)}c`);
    for (const long of [
      ['b'.repeat(60_000)],
      Array.from({ length: 20_000 }, () => 'bb'),
      ['b'.repeat(1_000_000)],
    ]) {
      expect(passesFilter({ tags: { exclude: globs } }, 'io.acme/a', long)).toBe(false);
      expect(passesFilter({ tags: { include: globs } }, 'io.acme/a', long)).toBe(false);
    }
    expect(passesFilter({ names: { include: ['io.*'] } }, 'io.acme/a', ['b'.repeat(1_000_000)])).toBe(true);
  });
});
