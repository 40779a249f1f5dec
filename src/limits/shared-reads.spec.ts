import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { remembered, SHARE_TIMEOUT_MS, SharedReads } from './shared-reads.js';

describe('SharedReads', () => {
  beforeEach(() => void vi.useFakeTimers());
  afterEach(() => void vi.useRealTimers());

  /** Reads that the test settles by number. */
  function numberedReads() {
    const ends: ((value: string) => void)[] = [];
    const fails: ((error: Error) => void)[] = [];
    const reads = new SharedReads<string, string>();
    const ask = (key: string) =>
      reads.share(
        key,
        () =>
          new Promise((resolve, reject) => {
            ends.push(resolve);
            fails.push(reject);
          }),
      );
    return { ask, ends, fails };
  }

  it('shares a read among concurrent callers with the same key', async () => {
    const { ask, ends } = numberedReads();
    const both = Promise.all([ask('a'), ask('a'), ask('b')]);
    expect(ends).toHaveLength(2);
    ends[0]?.('of a');
    ends[1]?.('of b');
    expect(await both).toEqual(['of a', 'of a', 'of b']);
    const later = ask('a');
    ends[2]?.('of a, later');
    expect(await later).toBe('of a, later');
  });

  it('rejects for all callers of a failed read and starts a new read for the next caller', async () => {
    const { ask, ends, fails } = numberedReads();
    const both = Promise.allSettled([ask('a'), ask('a')]);
    fails[0]?.(new Error('gone'));
    expect((await both).map(({ status }) => status)).toEqual(['rejected', 'rejected']);
    const next = ask('a');
    ends[1]?.('there');
    expect(await next).toBe('there');
  });

  it('starts another read after SHARE_TIMEOUT_MS', async () => {
    const { ask, ends } = numberedReads();
    const hanging = ask('a');
    vi.advanceTimersByTime(SHARE_TIMEOUT_MS - 1);
    const early = ask('a');
    expect(ends).toHaveLength(1);
    vi.advanceTimersByTime(1);
    const late = ask('a');
    expect(ends).toHaveLength(2);
    ends[1]?.('again');
    expect(await late).toBe('again');
    ends[0]?.('at last');
    expect(await Promise.all([hanging, early])).toEqual(['at last', 'at last']);
  });

  it('aborts a read when its last caller leaves and starts a new read for the next caller', async () => {
    const signals: AbortSignal[] = [];
    const reads = new SharedReads<string, string>();
    const ask = (gone?: AbortSignal) =>
      reads.share(
        'a',
        (abandoned) =>
          new Promise((_resolve, reject) => {
            signals.push(abandoned);
            abandoned.addEventListener('abort', () => reject(new Error('abandoned')));
          }),
        gone,
      );
    const [first, second] = [new AbortController(), new AbortController()];
    const asked = [ask(first.signal), ask(second.signal)].map((one) => one.catch(String));
    first.abort(new Error('gone'));
    expect(await asked[0]).toBe('Error: gone');
    expect(signals.map(({ aborted }) => aborted)).toEqual([false]);
    second.abort(new Error('gone'));
    expect(await asked[1]).toBe('Error: abandoned');
    ask().catch(() => undefined);
    expect(signals.map(({ aborted }) => aborted)).toEqual([true, false]);
  });

  it('does not abort a read with a caller that has no signal', async () => {
    const reads = new SharedReads<string, string>();
    let end: (value: string) => void = () => undefined;
    const signals: AbortSignal[] = [];
    const read = (abandoned: AbortSignal) => {
      signals.push(abandoned);
      return new Promise<string>((resolve) => (end = resolve));
    };
    const client = new AbortController();
    const leaving = reads.share('a', read, client.signal).catch(String);
    const staying = reads.share('a', read);
    client.abort(new Error('gone'));
    expect(await leaving).toBe('Error: gone');
    end('there');
    expect(await staying).toBe('there');
    expect(signals.map(({ aborted }) => aborted)).toEqual([false]);
  });

  it('keeps sharing the newer read when an older one ends late', async () => {
    const { ask, ends } = numberedReads();
    const hanging = ask('a');
    vi.advanceTimersByTime(SHARE_TIMEOUT_MS);
    const second = ask('a');
    ends[0]?.('at last');
    await hanging;
    const third = ask('a');
    expect(ends).toHaveLength(2);
    ends[1]?.('again');
    expect(await Promise.all([second, third])).toEqual(['again', 'again']);
  });
});

it('remembered creates a value once, and again after a failure', async () => {
  const promises = new Map<string, Promise<number>>();
  let made = 0;
  const make = async () => {
    made += 1;
    if (made < 3) throw new Error('transient');
    return made;
  };
  const first = [remembered(promises, 'a', make), remembered(promises, 'a', make)];
  expect((await Promise.allSettled(first)).map(({ status }) => status)).toEqual(['rejected', 'rejected']);
  expect(made).toBe(1);
  await expect(remembered(promises, 'a', make)).rejects.toThrow('transient');
  expect(await remembered(promises, 'a', make)).toBe(3);
  expect(await remembered(promises, 'a', make)).toBe(3);
  expect(await remembered(promises, 'b', make)).toBe(4);
});
