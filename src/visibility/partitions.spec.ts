import { describe, expect, it } from 'vitest';
import { inSoak } from '../../test/support/soak.js';
import type { Caller } from '../auth/caller.js';
import { FullPolicy } from '../authz/access-policy.js';
import type { Claims } from '../claims/claims.js';
import { partitionsOf, type RegistryPartitions, ViewCache } from './partitions.js';
import type { View } from './view.js';

const BOUND_BYTES = 32 * 1024 * 1024;
/** Lower bound per partition: a number in a list, plus its digits. */
const PARTITION_BYTES = 14;

const policy = new FullPolicy({
  roles: { superAdmin: [], manageSources: [], manageRegistries: [], manageEntries: [] },
  policy: { arrayValues: 'all', unlabeled: 'deny', registryListing: 'managers' },
});

/** One partition for a team, and `others` for everyone at Acme. */
function aList(others = 0, revision = 1): RegistryPartitions {
  const claims = Array.from({ length: others + 1 }, (_, index): Claims =>
    index === 0 ? { team: 'red' } : { org: 'acme' },
  );
  return listOf(
    claims.map((required, index) => [index + 1, required]),
    revision,
  );
}

function listOf(partitions: [id: number, claims: Claims][], revision: number): RegistryPartitions {
  const claimSetIds = partitions.map(([id]) => id);
  const claims = partitions.map(([, required]) => required);
  const keys = new Set(claims.flatMap((required) => Object.keys(required)));
  return partitionsOf([{ sourceId: 1, revision: String(revision), claimSetIds, claims, keys }]);
}

function aRegistry(revision: number) {
  return {
    sourceIds: [1],
    databaseEpoch: 'first',
    revisions: `first|1:${revision}`,
  };
}

function aCaller(team: string, more = {}): Caller {
  return { subject: team, issuer: null, claims: { org: 'acme', team, ...more }, identified: true };
}

const visibleIn = (view: View) => (view.seesAll ? [] : view.visible);
const shownIn = (view: View) => visibleIn(view).flatMap(({ claimSetIds }) => claimSetIds);

describe('ViewCache', () => {
  it('shares a view between callers with equal values of the claims that partitions require', async () => {
    const views = new ViewCache(policy);
    const [list, registry] = [aList(1), aRegistry(1)];
    const red = await views.viewOf(aCaller('red'), registry, list);
    expect(await views.viewOf(aCaller('red', { sub: 'ruth' }), registry, list)).toBe(red);
    const blue = await views.viewOf(aCaller('blue'), registry, list);
    expect([red, blue].map(shownIn)).toEqual([[1, 2], [2]]);
    const later = await views.viewOf(aCaller('red'), aRegistry(2), list);
    expect(visibleIn(later)[0]).toBe(visibleIn(red)[0]);
    expect(later.tag).not.toBe(red.tag);
  });

  it('reads the claims of a caller once, however many sources are evaluated', async () => {
    let reads = 0;
    const groups = Array.from({ length: 500 }, (_, index) => `group-${index}`);
    const claims = {
      get groups() {
        reads += 1;
        return groups;
      },
    };
    const caller: Caller = { subject: 'ann', issuer: null, claims, identified: true };
    const seen = async (count: number, revision: number) => {
      const sources = Array.from({ length: count }, (_, index) => ({
        ...{ sourceId: index + 1, revision: index === 0 ? String(revision) : '1' },
        ...{ claimSetIds: [index + 1], claims: [{ team: 'red' }], keys: new Set(['team', 'groups']) },
      }));
      const registry = { ...aRegistry(revision), sourceIds: sources.map(({ sourceId }) => sourceId) };
      await new ViewCache(policy).viewOf(caller, registry, partitionsOf(sources));
    };
    await seen(1, 1);
    const first = reads;
    expect(first).toBeGreaterThan(0);
    await seen(500, 2);
    expect(reads).toBe(first);
  });

  it.each<[what: string, before: [number, Claims][], now: [number, Claims][], seen: number[]]>([
    [
      'an addition at the end',
      [[2, { team: 'red' }]],
      [
        [2, { team: 'red' }],
        [5, { team: 'red' }],
      ],
      [2, 5],
    ],
    [
      'an addition in the middle',
      [
        [2, { team: 'red' }],
        [5, { team: 'red' }],
      ],
      [
        [2, { team: 'red' }],
        [4, { team: 'red' }],
        [5, { team: 'red' }],
      ],
      [2, 4, 5],
    ],
    [
      'an addition for others',
      [[2, { team: 'red' }]],
      [
        [1, { team: 'blue' }],
        [2, { team: 'red' }],
        [3, { team: 'blue' }],
      ],
      [2],
    ],
    [
      'a removal',
      [
        [1, { team: 'red' }],
        [2, { team: 'blue' }],
        [3, { team: 'red' }],
      ],
      [
        [2, { team: 'blue' }],
        [3, { team: 'red' }],
      ],
      [3],
    ],
    [
      'a new claim key',
      [[1, { team: 'red' }]],
      [
        [1, { team: 'red' }],
        [2, { org: 'acme' }],
        [3, { tier: 'a' }],
      ],
      [1, 2],
    ],
    ['all removed', [[1, { team: 'red' }]], [], []],
    [
      'additions to an empty list',
      [],
      [
        [1, { team: 'red' }],
        [2, { team: 'blue' }],
      ],
      [1],
    ],
  ])('returns the new view after the partitions change: %s', async (_, before, now, seen) => {
    const views = new ViewCache(policy);
    const red = aCaller('red');
    await views.viewOf(red, aRegistry(1), listOf(before, 1));
    expect(shownIn(await views.viewOf(red, aRegistry(2), listOf(now, 2)))).toEqual(seen);
    // Incremental and fresh evaluation agree.
    expect(shownIn(await new ViewCache(policy).viewOf(red, aRegistry(2), listOf(now, 2)))).toEqual(seen);
  });

  // Getting the same object back means that it was cached.
  const cachings: [string, number, (before: View, now: View) => boolean][] = [
    ['at the same revisions', 1, (before, now) => now === before],
    ['at later revisions', 2, (before, now) => visibleIn(now)[0] === visibleIn(before)[0]],
  ];
  it.each(inSoak(cachings, cachings.slice(1)))(
    'stays within its memory bound, %s',
    async (_when, revision, isCached) => {
      const [callers, partitions] = [130, 20_000];
      const views = new ViewCache(policy);
      const list = aList(partitions + 1);
      const first: View[] = [];
      for (let index = 0; index < callers; index += 1)
        first.push(await views.viewOf(aCaller(String(index)), aRegistry(1), list));
      let cached = 0;
      for (const [index, before] of [...first.entries()].reverse()) {
        if (!isCached(before, await views.viewOf(aCaller(String(index)), aRegistry(revision), list))) break;
        cached += 1;
      }
      expect(cached).toBeGreaterThan(0);
      expect(cached * PARTITION_BYTES * partitions).toBeLessThan(BOUND_BYTES);
    },
  );
});
