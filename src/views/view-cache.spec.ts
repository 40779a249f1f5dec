import { describe, expect, it } from 'vitest';
import type { Caller } from '../auth/caller.js';
import { FullPolicy } from '../authz/access-policy.js';
import type { View } from './view.js';
import type { PartitionWithClaims, RegistryPartitions } from './partitions.js';
import { ViewCache } from './view-cache.js';

const BOUND_BYTES = 32 * 1024 * 1024;
/** An object of two numbers and its place in a list, at the least. */
const PARTITION_BYTES = 48;

const policy = new FullPolicy({
  roles: { superAdmin: [], manageSources: [], manageRegistries: [], manageEntries: [] },
  policy: { arrayValues: 'all', unlabeled: 'deny', registryListing: 'managers' },
});

/** One partition for a team, and this many for everybody at Acme. */
function aList(others = 0): RegistryPartitions {
  const partitions = Array.from({ length: others + 1 }, (_, index): PartitionWithClaims => ({
    sourceId: 1,
    claimSetId: index + 1,
    claims: index === 0 ? { team: 'red' } : { org: 'acme' },
  }));
  return { partitions, keys: ['org', 'team'], digest: `of ${others}` };
}

function aRegistry(revision: number) {
  return {
    sourceIds: [1],
    databaseEpoch: 'first',
    revisions: `first|1:${revision}`,
  };
}

function aCaller(team: string, more = {}): Caller {
  return { subject: team, claims: { org: 'acme', team, ...more }, identified: true };
}

describe('cached views', () => {
  it('are shared by callers with the same values of the claims that partitions require, and by no others', () => {
    const views = new ViewCache(policy);
    const [list, registry] = [aList(1), aRegistry(1)];
    const red = views.of(aCaller('red'), registry, list);
    expect(views.of(aCaller('red', { sub: 'ruth' }), registry, list)).toBe(red);
    const blue = views.of(aCaller('blue'), registry, list);
    expect([red, blue].map(({ partitions }) => partitions.map((p) => p.claimSetId))).toEqual([[1, 2], [2]]);
    const later = views.of(aCaller('red'), aRegistry(2), list);
    expect(later.partitions).toBe(red.partitions);
    expect(later.tag).not.toBe(red.tag);
  });

  // Text that takes two bytes a character. Only what comes back as the same object was cached.
  describe.each([
    { what: 'much in their tokens', callers: 2_000, characters: 10_000, others: 0 },
    { what: 'many partitions', callers: 45, characters: 0, others: 20_000 },
  ])('of callers with $what', ({ callers, characters, others }) => {
    const caller = (index: number) => aCaller('я'.repeat(characters) + String(index));
    const bytes = 2 * characters + PARTITION_BYTES * others;

    it.each<[string, number, (before: View, now: View) => boolean]>([
      ['at the same revisions', 1, (before, now) => now === before],
      ['at later revisions', 2, (before, now) => now.partitions === before.partitions],
    ])('take no more than the memory they may have, %s', (_when, revision, isCached) => {
      const views = new ViewCache(policy);
      const list = aList(others);
      const first = Array.from({ length: callers }, (_, index) =>
        views.of(caller(index), aRegistry(1), list),
      );
      const latestFirst = [...first.entries()].reverse();
      const firstMissing = latestFirst.findIndex(
        ([index, before]) => !isCached(before, views.of(caller(index), aRegistry(revision), list)),
      );
      const cached = firstMissing === -1 ? callers : firstMissing;
      expect(cached).toBeGreaterThan(0);
      expect(cached * bytes).toBeLessThan(BOUND_BYTES);
    });
  });
});
