import { expect, it } from 'vitest';
import { isListable } from './list-match.js';

it.each([
  ['git', true],
  ['git hub', true],
  [' git ', true],
  ['für die Übergabe', true],
  [' ', false],
  ['git  hub', false],
  ['git\nhub', false],
  ['git\u00a0hub', false],
])('lists with the search text %j use the index: %s', (search, expected) => {
  expect(isListable(search)).toBe(expected);
});
