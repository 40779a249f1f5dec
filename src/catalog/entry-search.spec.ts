import { expect, it } from 'vitest';
import { wordsOf } from './entry-search.js';

it.each([
  [undefined, []],
  [' ', []],
  ['One\ttwo\u00a0ONE', ['one', 'two']],
])('the words of %j are %j', (q, words) => {
  expect(wordsOf(q)).toEqual(words);
});
