import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { RecentCallers } from './catalog.service.js';

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

it.each([
  { asked: [], areSeveral: false },
  { asked: ['one', 'one', 'one'], areSeveral: false },
  { asked: ['one', 'two'], areSeveral: true },
  { asked: ['one', 'two', 'two', 'two'], areSeveral: true },
])(
  'areSeveral is $areSeveral after requests from $asked, and false a second later',
  ({ asked, areSeveral }) => {
    const callers = new RecentCallers();
    for (const who of asked) callers.add(who);
    expect(callers.areSeveral()).toBe(areSeveral);
    vi.advanceTimersByTime(1_000);
    for (const who of asked.slice(-1)) callers.add(who);
    expect(callers.areSeveral()).toBe(false);
  },
);
