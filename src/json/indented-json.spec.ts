import { expect, it } from 'vitest';
import { indentedJson } from './indented-json.js';

it.each<object>([
  {},
  { servers: {}, inputs: [], none: null, text: 'a\nb', number: 1, left: undefined },
  { servers: { 'io.acme/a': { args: ['-y', 'a\nb'], env: {} }, 'io.acme/b': 'x', left: undefined } },
  { list: [{ name: 'a', deep: [{ of: [1, [2]] }] }, 'text', null, undefined, []] },
])('%j is written as JSON.stringify writes it', async (value) => {
  expect(await indentedJson(value)).toBe(JSON.stringify(value, null, 2));
});
