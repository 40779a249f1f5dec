import { expect, it } from 'vitest';
import { problemsOf } from './document-editor.js';
import { parseJson } from './json-lines.js';

const PARSED = parseJson('{\n  "name": "x y",\n  "remotes": [\n    { "url": "ftp://x" }\n  ]\n}');

it.each([
  [
    'server.name: must have one slash',
    { marks: [{ line: 2, message: 'name must have one slash' }], others: [] },
  ],
  ['server.remotes[0].url: must be http', { marks: [{ line: 4, message: 'url must be http' }], others: [] }],
  ['server: is too large', { marks: [{ line: 1, message: 'is too large' }], others: [] }],
  ['claims.org: must be a string', { marks: [], others: ['claims.org: must be a string'] }],
  ['serverless.name: is unknown', { marks: [], others: ['serverless.name: is unknown'] }],
  ['a sentence without a path', { marks: [], others: ['a sentence without a path'] }],
])('locates %s', (detail, problems) => expect(problemsOf(PARSED, [detail], 'server')).toEqual(problems));

it('returns no problems if the editor is empty or there are no details', () => {
  expect(problemsOf(undefined, ['server.name: is required'], 'server')).toEqual({
    marks: [],
    others: [],
  });
  expect(problemsOf(PARSED, [], 'server')).toEqual({ marks: [], others: [] });
});
