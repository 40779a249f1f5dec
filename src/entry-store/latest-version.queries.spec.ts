import { describe, expect, it } from 'vitest';
import { precedes } from './latest-version.queries.js';

describe('the election of the latest version', () => {
  it.each([
    ['the newer one', ['active', '12'], ['active', '11']],
    ['a version that is not deleted', ['deprecated', '11'], ['deleted', '12']],
    ['the newer one if both are deleted', ['deleted', '12'], ['deleted', '11']],
    // The rocket would come first in UTF-16 order.
    ['the one with greater bytes', ['active', '\u{1f680}'], ['active', '\uff5a']],
  ] as const)('prefers %s', (_, [status, key], [otherStatus, otherKey]) => {
    const one = { status, versionKey: key };
    const other = { status: otherStatus, versionKey: otherKey };
    expect(precedes(one, other)).toBe(true);
    expect(precedes(other, one)).toBe(false);
  });
});
