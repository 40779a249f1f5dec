import { expect, it } from 'vitest';
import { copiedChunks, copiedText } from './bulk.js';

it.each([
  ['a\\b\tc\nd\re', 'a\\\\b\\tc\\nd\\re'],
  ['\\N', '\\\\N'],
  ['{"text":"ж✓ \\"quoted\\""}', '{"text":"ж✓ \\\\"quoted\\\\""}'],
  ['', ''],
  [null, '\\N'],
  [true, 'true'],
  [new Date('1999-12-31T23:59:59.5Z'), '1999-12-31T23:59:59.500Z'],
  [Buffer.from([1, 255]), '\\\\x01ff'],
])('COPY reads %j from %j', (value, text) => expect(copiedText(value)).toBe(text));

it('lets others run between rows that take long to compute', async () => {
  let turns = 0;
  let counting = setImmediate(function count() {
    turns += 1;
    counting = setImmediate(count);
  });
  const turnsBefore: number[] = [];
  function* slowRows() {
    for (let row = 0; row < 5; row += 1) {
      turnsBefore.push(turns);
      const end = performance.now() + 5;
      while (performance.now() < end);
      yield [String(row)];
    }
  }
  const chunks: string[] = [];
  try {
    for await (const chunk of copiedChunks(slowRows())) chunks.push(chunk);
  } finally {
    clearImmediate(counting);
  }
  expect(chunks.join('')).toBe('0\n1\n2\n3\n4\n');
  expect(new Set(turnsBefore).size).toBe(5);
});
