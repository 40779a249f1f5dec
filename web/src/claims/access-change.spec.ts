import { expect, it } from 'vitest';
import { accessChange } from './access-change.js';

const ORG = { org: 'acme' };

it.each([
  ['nothing', ORG, ORG, []],
  ['only the order', { team: ['a', 'b'] }, { team: ['b', 'a'] }, []],
  ['one more claim', ORG, { ...ORG, team: 'data' }, ['People without team data lose access.']],
  [
    'one claim fewer',
    { ...ORG, team: 'data' },
    ORG,
    ['People without team data gain access, if they hold the rest.'],
  ],
  [
    'another value',
    { team: 'a' },
    { team: 'b' },
    ['People without team b lose access.', 'People without team a gain access, if they hold the rest.'],
  ],
  [
    'no claims anymore',
    { ...ORG, team: ['a', 'b'] },
    {},
    ['Everybody who sees the entry because they hold org acme, team a and team b loses access.'],
  ],
  ['the first claims', {}, ORG, ['People who hold org acme gain access.']],
])('accessChange: %s', (_, before, after, sentences) => {
  expect(accessChange(before, after)).toEqual(sentences);
});
