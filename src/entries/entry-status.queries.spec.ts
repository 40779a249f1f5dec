import { describe, expect, it } from 'vitest';
import { precedes } from './entry-status.queries.js';

describe('of two versions of one entry', () => {
  it.each([
    ['the newer one', ['active', '12'], ['active', '11']],
    ['the one that is not deleted', ['deprecated', '11'], ['deleted', '12']],
    ['the newer one where both are deleted', ['deleted', '12'], ['deleted', '11']],
    // In UTF-16 a rocket comes before the last letters of the first plane.
    ['the one whose bytes are greater', ['active', '\u{1f680}'], ['active', '\uff5a']],
  ] as const)('%s comes first', (_, [status, key], [otherStatus, otherKey]) => {
    const one = { status, versionKey: key };
    const other = { status: otherStatus, versionKey: otherKey };
    expect(precedes(one, other)).toBe(true);
    expect(precedes(other, one)).toBe(false);
  });
});
