import { expect, it } from 'vitest';
import { matchedIn } from './matched-text.js';
import { searchWords, synonymsOf } from './search-words.js';

const SYNONYMS = synonymsOf([]);
const entry = { title: 'Issues', tags: ['Database', 'tracker'], tools: ['execute_sql', 'list_issues'] };
const members = ['left-pad', 'sql-server'];

it.each([
  ['sql', [{ in: 'tool', text: 'execute_sql' }]],
  ['db', [{ in: 'tag', text: 'Database' }]],
  [
    'track sql',
    [
      { in: 'tag', text: 'tracker' },
      { in: 'tool', text: 'execute_sql' },
    ],
  ],
  ['pad', [{ in: 'member', text: 'left-pad' }]],
  // The words are in the name, in the title or only in the description.
  ['board', undefined],
  ['issues', undefined],
  ['other', undefined],
  // The query does not match the namespace.
  ['acme', undefined],
  ['io.acme/board', undefined],
  ['', undefined],
])('%j was found in %j', (q, matched) => {
  expect(matchedIn('io.acme/board', entry, members, searchWords(q, SYNONYMS))).toEqual(matched);
});
