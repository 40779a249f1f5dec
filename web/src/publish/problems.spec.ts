import { expect, it } from 'vitest';
import { Failure } from '../api/failure.js';
import { parseJson } from './json-lines.js';
import { problemsOf } from './problems.js';

const refused = (...details: string[]) => new Failure('No', 'invalid_body', 400, undefined, details);
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
])('%s', (detail, problems) => expect(problemsOf(PARSED, refused(detail), 'server')).toEqual(problems));

it('nothing is wrong where nothing is typed, or nothing was said', () => {
  expect(problemsOf(undefined, refused('server.name: is required'), 'server')).toEqual({
    marks: [],
    others: [],
  });
  expect(problemsOf(PARSED, undefined, 'server')).toEqual({ marks: [], others: [] });
});
