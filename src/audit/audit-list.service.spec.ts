import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { linesFrom } from './audit-list.service.js';

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

it('a stream sends an empty line only after 30 s without events', async () => {
  const rest = { conditions: { from: '', before: '' }, limit: 1 };
  const nothing = { text: '', count: 0, rest };
  const counts = [0, 0, 0, 1, 0, 0];
  const read = () => {
    vi.advanceTimersByTime(15_000);
    const count = counts.shift();
    return Promise.resolve(
      count === undefined
        ? { ...nothing, rest: undefined }
        : { ...nothing, text: '{}\n'.repeat(count), count },
    );
  };
  const sent: string[] = [];
  for await (const text of linesFrom(nothing, Infinity, read)) sent.push(text);
  expect(sent).toEqual(['\n', '{}\n', '\n']);
});
