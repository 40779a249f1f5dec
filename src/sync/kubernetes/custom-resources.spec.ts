import { expect, it } from 'vitest';
import { isEarlierVersion } from './custom-resources.js';

it.each([
  ['9', '10', true],
  ['10', '10', false],
  ['11', '10', false],
  ['9007199254740992', '9007199254740993', true],
  ['', '10', false],
  ['a', 'b', false],
  ['-1', '1', false],
])('the resource version %j is earlier than %j: %s', (one, other, answer) =>
  expect(isEarlierVersion(one, other)).toBe(answer),
);
