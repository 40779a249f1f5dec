import { expect, it } from 'vitest';
import { SnapshotCheck, ViewSql } from '../visibility/freshness.queries.js';
import { viewOf } from '../visibility/view.js';
import { readByNames } from './list-strategies.js';

it.each([true, false])(
  'a search without results checks that its view is still current: %s',
  async (isCurrent) => {
    const check = new SnapshotCheck(viewOf({ sourceIds: [1], revisions: 'epoch|{1}|{1}' }, null));
    const sql = new ViewSql({ query: () => Promise.resolve([{ isCurrent }] as never) }, check);
    const request = { filter: { search: 'tools' }, limit: 30, after: null };
    const found = await readByNames(sql, 'server', request, () =>
      Promise.resolve({ names: [], isLast: true }),
    );
    expect({ found, isCurrent: check.isCurrent }).toEqual({ found: [], isCurrent });
  },
);
