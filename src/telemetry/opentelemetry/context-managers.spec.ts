import { setTimeout as pause } from 'node:timers/promises';
import { createContextKey, ROOT_CONTEXT } from '@opentelemetry/api';
import { afterAll, describe, expect, it } from 'vitest';
import { PromiseContextManager } from './context-managers.js';

const manager = new PromiseContextManager().enable();
const NAME = createContextKey('name');
const contextOf = (name: string) => ROOT_CONTEXT.setValue(NAME, name);
const inUse = () => manager.active().getValue(NAME);

afterAll(() => void manager.disable());

async function namesSeen(): Promise<unknown[]> {
  const seen = [inUse()];
  await Promise.resolve();
  seen.push(inUse());
  await pause(1);
  seen.push(inUse());
  await Promise.all([pause(2), Promise.reject(new Error('refused')).catch(() => undefined)]);
  return [...seen, inUse()];
}

describe('a context', () => {
  it('goes on where its code awaits, and does not where others do', async () => {
    const [one, other, none] = await Promise.all([
      manager.with(contextOf('one'), namesSeen),
      manager.with(contextOf('other'), namesSeen),
      namesSeen(),
    ]);
    expect(one).toEqual(['one', 'one', 'one', 'one']);
    expect(other).toEqual(['other', 'other', 'other', 'other']);
    expect(none).toEqual([undefined, undefined, undefined, undefined]);
  });

  it('is the one before again where work ends, also by an error', () => {
    manager.with(contextOf('outer'), () => {
      const fail = () => {
        throw new Error(String(inUse()));
      };
      expect(() => manager.with(contextOf('inner'), fail)).toThrow('inner');
      expect(inUse()).toBe('outer');
    });
    expect(inUse()).toBeUndefined();
  });

  it('is that of whoever waits for what others have begun', async () => {
    const shared = manager.with(contextOf('first'), () => pause(1));
    const seen = await manager.with(contextOf('second'), async () => {
      await shared;
      return inUse();
    });
    expect(seen).toBe('second');
  });

  it('is not that of callbacks, unless they are bound to it', async () => {
    const called = (bind: boolean) =>
      new Promise((resolve) => {
        const context = contextOf('bound');
        const callback = () => resolve(inUse());
        manager.with(context, () => void setTimeout(bind ? manager.bind(context, callback) : callback, 1));
      });
    expect(await Promise.all([called(false), called(true)])).toEqual([undefined, 'bound']);
  });

  it('binds a function with what it is called on and by', () => {
    const bound = manager.bind(contextOf('bound'), function (this: unknown, ...args: unknown[]) {
      return [this, ...args, inUse()];
    });
    expect(bound.call('object', 1, 2)).toEqual(['object', 1, 2, 'bound']);
  });
});
