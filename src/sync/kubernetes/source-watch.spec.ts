import { expect, it } from 'vitest';
import { watchStateOf, type WatchStatus } from './source-watch.js';

const watch = (
  plural: string,
  namespace: string | null,
  changed: Partial<WatchStatus> = {},
): WatchStatus => ({
  resource: { plural },
  namespace,
  isListed: true,
  error: null,
  failures: 0,
  ...changed,
});
const failing = (plural: string, namespace: string | null, error = 'unreachable', failures = 1) =>
  watch(plural, namespace, { error, failures });
const many = (count: number, make: (index: number) => WatchStatus) =>
  Array.from({ length: count }, (_, index) => make(index));

const A = watch('a', null);

it.each<[string, WatchStatus[], string | null, boolean, object]>([
  ['everything is listed and written', [A, A], null, true, { status: 'complete', error: null, attempts: 0 }],
  ['nothing is written yet', [A], null, false, { status: 'syncing', error: null, attempts: 0 }],
  [
    'something is not listed yet',
    [A, watch('b', 'x', { isListed: false })],
    null,
    true,
    { status: 'syncing', error: null, attempts: 0 },
  ],
  [
    'all fail with the same error',
    [failing('a', null), failing('b', null, undefined, 4)],
    null,
    true,
    { status: 'failed', error: 'unreachable', attempts: 4 },
  ],
  [
    'one fails',
    [A, failing('b', 'x', 'Listing b is forbidden', 2)],
    null,
    true,
    {
      status: 'failed',
      error: 'Listing b is forbidden; Not current: b in the namespace x',
      attempts: 2,
    },
  ],
  [
    'some fail in different ways',
    [A, failing('b', null, 'One'), failing('c', 'y', 'Two')],
    null,
    true,
    { error: 'One; Two; Not current: b in all namespaces, c in the namespace y' },
  ],
  [
    'more than five fail',
    [A, ...many(7, (index) => failing('b', `n${index}`, `Error ${index}`))],
    null,
    true,
    {
      error:
        'Error 0; Error 1; Error 2; Error 3; Error 4; and 2 other errors; Not current: b in the namespace n0, ' +
        'b in the namespace n1, b in the namespace n2, b in the namespace n3, b in the namespace n4, and 2 others',
    },
  ],
  [
    'a watch and the write fail',
    [A, failing('b', 'x', 'One')],
    'No write',
    true,
    { status: 'failed', error: 'One; Not current: b in the namespace x; No write' },
  ],
  ['only the write fails', [A], 'No write', true, { status: 'failed', error: 'No write', attempts: 0 }],
])('when %s', (_situation, watches, writeError, isWritten, state) =>
  expect(watchStateOf(watches, writeError, isWritten)).toMatchObject(state),
);
