import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { SearchLimit } from './search-limits.js';

const PLACES = 2;
const WAITING = 50;

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

function aLimit() {
  const limit = new SearchLimit({ searchesPerCaller: PLACES } as never);
  const started: string[] = [];
  const ends = new Map<string, () => void>();
  const search = (caller: string, name: string, signal = new AbortController().signal) =>
    limit
      .run(caller, signal, () => {
        started.push(name);
        return new Promise<void>((resolve) => ends.set(name, resolve));
      })
      .then(
        () => 'done',
        (error: { code?: string; message: string }) => error.code ?? error.message,
      );
  const end = async (name: string) => {
    ends.get(name)?.();
    await vi.advanceTimersByTimeAsync(0);
  };
  return { started, search, end };
}

it('starts waiting searches of a caller in order of arrival', async () => {
  const { started, search, end } = aLimit();
  for (const name of ['a', 'b', 'c', 'd']) void search('rita', name);
  await vi.advanceTimersByTimeAsync(1_999);
  expect(started).toEqual(['a', 'b']);
  await end('b');
  expect(started).toEqual(['a', 'b', 'c']);
  await end('a');
  expect(started).toEqual(['a', 'b', 'c', 'd']);
});

it('refuses a search that has waited for two seconds with 429, and serves the next', async () => {
  const { started, search, end } = aLimit();
  for (const name of ['a', 'b']) void search('rita', name);
  const refused = search('rita', 'c');
  await vi.advanceTimersByTimeAsync(2_000);
  expect(await refused).toBe('too_many_requests');
  const next = search('rita', 'd');
  await end('a');
  await end('d');
  expect(await next).toBe('done');
  expect(started).toEqual(['a', 'b', 'd']);
});

it('refuses searches immediately when 50 of the same caller are waiting, but none of other callers', async () => {
  const { started, search } = aLimit();
  for (let n = 0; n < PLACES + WAITING; n += 1) void search('rita', `rita-${n}`);
  expect(await search('rita', 'over')).toBe('too_many_requests');
  void search('otto', 'otto');
  await vi.advanceTimersByTimeAsync(0);
  expect(started).toEqual(['rita-0', 'rita-1', 'otto']);
});

it('forgets a waiting search whose client has disconnected', async () => {
  const { started, search, end } = aLimit();
  const client = new AbortController();
  for (const name of ['a', 'b']) void search('rita', name);
  const gone = search('rita', 'gone', client.signal);
  void search('rita', 'c');
  client.abort(new Error('disconnected'));
  expect(await gone).toBe('disconnected');
  await end('a');
  expect(started).toEqual(['a', 'b', 'c']);
});
