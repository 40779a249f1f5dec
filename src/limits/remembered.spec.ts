import { expect, it } from 'vitest';
import { remembered } from './remembered.js';

it('makes a value once, and again after a failure', async () => {
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
