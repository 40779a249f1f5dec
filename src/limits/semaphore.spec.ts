import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { NoPlaceFree, Places } from './semaphore.js';

const STAYS = new AbortController().signal;

describe('places', () => {
  beforeEach(() => void vi.useFakeTimers());
  afterEach(() => void vi.useRealTimers());

  it('are taken at once while there are any, and then in the order of arrival', async () => {
    const places = new Places(2);
    const giveBack = await places.take('one', 1_000, STAYS);
    await places.take('one', 1_000, STAYS);
    const order: string[] = [];
    const first = places.take('one', 1_000, STAYS).then((release) => (order.push('first'), release));
    const second = places.take('one', 1_000, STAYS).then(() => order.push('second'));
    giveBack();
    (await first)();
    await second;
    expect(order).toEqual(['first', 'second']);
  });

  it('are had in turn by those who wait, however many each of them wants', async () => {
    const places = new Places(1);
    const giveBack = await places.take('one', 1_000, STAYS);
    const order: string[] = [];
    for (const who of ['greedy', 'greedy', 'greedy', 'greedy', 'modest', 'late', 'modest'])
      void places.take(who, 1_000, STAYS).then((release) => {
        order.push(who);
        release();
      });
    giveBack();
    await vi.advanceTimersByTimeAsync(0);
    expect(order).toEqual(['greedy', 'modest', 'late', 'greedy', 'modest', 'greedy', 'greedy']);
  });

  it('are not waited for any longer than that, and are free for others then', async () => {
    const places = new Places(1);
    const giveBack = await places.take('one', 1_000, STAYS);
    const refused = expect(places.take('one', 1_000, STAYS)).rejects.toThrow(NoPlaceFree);
    vi.advanceTimersByTime(1_000);
    await refused;
    giveBack();
    expect(await places.take('one', 0, STAYS)).toBeTypeOf('function');
  });

  it('go to nobody who has gone', async () => {
    const places = new Places(1);
    const giveBack = await places.take('one', 1_000, STAYS);
    const client = new AbortController();
    const waiting = expect(places.take('one', 1_000, client.signal)).rejects.toThrow('gone');
    client.abort(new Error('gone'));
    await waiting;
    giveBack();
    await expect(places.take('one', 1_000, client.signal)).rejects.toThrow('gone');
    expect(await places.take('one', 0, STAYS)).toBeTypeOf('function');
  });

  it('are for others while somebody pauses, and for them again when all their pauses have ended', async () => {
    const places = new Places(1);
    const giveBack = await places.take('large', 1_000, STAYS);
    places.pause('large', 100);
    places.pause('large', 200);
    giveBack();
    const order: string[] = [];
    const take = (who: string) =>
      places.take(who, 1_000, STAYS).then((release) => {
        order.push(who);
        release();
      });
    void take('large');
    void take('small');
    await vi.advanceTimersByTimeAsync(299);
    expect(order).toEqual(['small']);
    await vi.advanceTimersByTimeAsync(1);
    expect(order).toEqual(['small', 'large']);
    expect(places.takeFree('large')).toBeTypeOf('function');
  });

  it('are waited for by those whose pause has ended, as by everybody', async () => {
    const places = new Places(1);
    places.pause('large', 100);
    expect(places.takeFree('large')).toBeUndefined();
    const giveBack = await places.take('small', 1_000, STAYS);
    const waiting = places.take('large', 1_000, STAYS);
    await vi.advanceTimersByTimeAsync(100);
    giveBack();
    expect(await waiting).toBeTypeOf('function');
  });
});
