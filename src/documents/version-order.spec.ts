import fc from 'fast-check';
import { compareBuild, parse } from 'semver';
import { describe, expect, it } from 'vitest';
import { REAL_VERSIONS } from '../../test/support/versions.js';
import { versionKey } from './version-order.js';
import { versionProblem } from './version-rules.js';

const AT = new Date('2026-01-01T00:00:00Z');
const LATER = new Date('2026-01-02T00:00:00Z');
const bytes = (one: string, other: string) => Buffer.compare(Buffer.from(one), Buffer.from(other));

/** Oldest first. */
const ORDERED = [
  '0.0.0-0', '0.0.0', '0.0.1-seed', '0.0.1', '0.0.9', '0.0.10', '0.1.0-alpha', '0.1.0', '0.9.0', '0.10.0', '0.99.99',
  '1.0.0-0', '1.0.0-0.3.7', '1.0.0-1', '1.0.0-2', '1.0.0-10', '1.0.0-1a', '1.0.0-alpha', '1.0.0-alpha.1', '1.0.0-alpha.1.0',
  '1.0.0-alpha.beta', '1.0.0-alpha-', '1.0.0-alpha0', '1.0.0-beta', '1.0.0-beta.2', '1.0.0-beta.11', '1.0.0-rc.1', '1.0.0-x-y-z.--',
  '1.0.0', '1.0.0+1', '1.0.0+2', '1.0.0+10', '1.0.0+build.7', '1.0.0+build.12', '1.0.1-0', '1.0.1', '1.1.0', '1.2.3-4',
  '1.2.3-4.5', '1.2.3', '1.9.0', '1.10.0', '1.11.0', '2.0.0-rc.1', '2.0.0-rc.1+exp.sha.5114f85', '2.0.0-rc.2', '2.0.0',
  '2.1.0', '3.0.0', '9.99.999', '10.0.0-beta', '10.0.0', '10.2.10', '99.0.0', '100.0.0', '2024.1.1', '2025.6.1', '2025.11.24',
  '2025.11.25', '2026.1.1', '20250101.0.0', '9007199254740991.0.0',
]; // prettier-ignore

const numbers = fc.integer({ min: 0, max: 120 }).map(String);
const identifier = fc.oneof(numbers, fc.stringMatching(/^[A-Za-z-][0-9A-Za-z-]{0,3}$/));
const identifiers = fc.array(identifier, { minLength: 1, maxLength: 3 }).map((parts) => parts.join('.'));
const semver = fc
  .tuple(numbers, numbers, numbers, fc.option(identifiers), fc.option(identifiers))
  .map(
    ([a, b, c, pre, build]) =>
      `${a}.${b}.${c}${pre === null ? '' : `-${pre}`}${build === null ? '' : `+${build}`}`,
  );

describe('the order of versions', () => {
  it('is that of semver for a list of real ones', () => {
    const keys = ORDERED.map((version) => versionKey(version, AT));
    expect([...keys].sort(bytes)).toEqual(keys);
  });

  it('agrees with the semver library for random ones', () => {
    fc.assert(
      fc.property(semver, semver, (one, other) => {
        const expected = compareBuild(one, other);
        fc.pre(expected !== 0);
        expect(Math.sign(bytes(versionKey(one, AT), versionKey(other, AT)))).toBe(expected);
      }),
      { numRuns: 5_000 },
    );
  });

  it('compares numbers of any length', () => {
    const huge = `${'9'.repeat(80)}.0.0`;
    expect(bytes(versionKey(huge, AT), versionKey('9007199254740991.0.0', AT))).toBeGreaterThan(0);
    expect(bytes(versionKey(`1${'0'.repeat(80)}.0.0`, AT), versionKey(huge, AT))).toBeGreaterThan(0);
  });

  it.each([
    'v1.0.0',
    '1.0',
    '1',
    '01.2.3',
    '1.2.3-01',
    '1.2.3-',
    '1.2.3+',
    'nightly',
    '2025-11-25',
    '',
    '1.0.0 ',
    'main@abc',
  ])('puts %j below every semver version, newest publication first', (other) => {
    expect(bytes(versionKey(other, LATER), versionKey('0.0.0-0', AT))).toBeLessThan(0);
    expect(bytes(versionKey(other, LATER), versionKey('zzz', AT))).toBeGreaterThan(0);
  });

  it('gives different versions different keys', () => {
    expect(versionKey('1.0.0-00a', AT)).not.toBe(versionKey('1.0.0-0a', AT));
    expect(versionKey('a', AT)).not.toBe(versionKey('b', AT));
  });
});

/** Whether the semver library takes the string as it stands; it would also forgive a "v" or blanks. */
function isSemver(version: string): boolean {
  const found = parse(version);
  const build = found?.build.length ? `+${found.build.join('.')}` : '';
  return found !== null && found.version + build === version;
}

describe('the order of 200 versions that have been published', () => {
  const pairs = REAL_VERSIONS.flatMap((one) => REAL_VERSIONS.map((other) => [one, other] as const));
  const compare = (one: string, other: string) => bytes(versionKey(one, AT), versionKey(other, AT));
  const sorted = [...REAL_VERSIONS].sort(compare);

  it('has all of them, none refused, and of every kind', () => {
    expect(new Set(REAL_VERSIONS).size).toBe(REAL_VERSIONS.length);
    expect(REAL_VERSIONS.length).toBeGreaterThanOrEqual(200);
    expect(REAL_VERSIONS.filter((version) => versionProblem(version) !== null)).toEqual([]);
    expect(REAL_VERSIONS.filter((version) => !isSemver(version)).length).toBeGreaterThan(40);
    expect(
      REAL_VERSIONS.filter((version) => /^[^+]*-/.test(version) && isSemver(version)).length,
    ).toBeGreaterThan(40);
    expect(
      REAL_VERSIONS.filter((version) => version.includes('+') && isSemver(version)).length,
    ).toBeGreaterThan(15);
  });

  it('is total: each stands before or behind each other one, and all pairs agree on one row', () => {
    const place = new Map(sorted.map((version, index) => [version, index]));
    for (const [one, other] of pairs) {
      const expected = Math.sign((place.get(one) ?? 0) - (place.get(other) ?? 0));
      expect([one, other, Math.sign(compare(one, other))]).toEqual([one, other, expected]);
    }
  });

  it('is that of the semver library for all pairs it knows', () => {
    for (const [one, other] of pairs) {
      if (!isSemver(one) || !isSemver(other) || one === other) continue;
      expect([one, other, Math.sign(compare(one, other))]).toEqual([one, other, compareBuild(one, other)]);
    }
  });

  it('puts all that are not semver below all that are, in the order of their publication', () => {
    const others = REAL_VERSIONS.filter((version) => !isSemver(version));
    expect(new Set(sorted.slice(0, others.length))).toEqual(new Set(others));
    const keys = others.map((version, index) => versionKey(version, new Date(AT.getTime() + index)));
    expect([...keys].sort(bytes)).toEqual(keys);
    const lowest = versionKey(sorted[others.length] ?? '', AT);
    for (const version of others) expect(bytes(versionKey(version, LATER), lowest)).toBeLessThan(0);
  });
});
