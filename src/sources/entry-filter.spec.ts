import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { matchesGlob } from './entry-filter.js';

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
      { numRuns: 10_000 },
    );
  });

  it('takes polynomial time where a regular expression takes exponential time', () => {
    expect(matchesGlob(`${'*a'.repeat(500)}b`, 'a'.repeat(3_000))).toBe(false);
  });
});
