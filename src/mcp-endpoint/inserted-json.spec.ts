import { expect, it } from 'vitest';
import { insertJson, OBJECT_PLACE, quotedJson, STRING_PLACE } from './inserted-json.js';

it.each(['', 'plain', '"\\\n\u0000\u007f', 'é€😀\u2028'.repeat(20_000)])(
  'inserts a text as a JSON string, %#',
  async (text) => {
    const string = await quotedJson(Buffer.from(text));
    const result = { object: OBJECT_PLACE, text: STRING_PLACE, other: '' };
    const body = insertJson(JSON.stringify(result), { string, object: Buffer.from('[1.50]') });
    expect(body.toString() === `{"object":[1.50],"text":${JSON.stringify(text)},"other":""}`).toBe(true);
  },
);

it('lets other requests go on while a long text is quoted', async () => {
  let [turns, isDone] = [0, false];
  const turn = () => {
    turns += 1;
    if (!isDone) setImmediate(turn);
  };
  setImmediate(turn);
  await quotedJson(Buffer.alloc(32 * 1_024 * 1_024, '"'));
  isDone = true;
  expect(turns).toBeGreaterThan(2);
});
