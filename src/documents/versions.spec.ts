import fc from 'fast-check';
import { compareBuild, parse } from 'semver';
import { describe, expect, it } from 'vitest';
import { REAL_VERSIONS } from '../../test/support/versions.js';
import { packageVersionProblem, versionKey, versionProblem } from './versions.js';

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
]; // oxfmt-ignore

/** Pairs of versions published at the same time. */
const PAIRS: readonly (readonly [older: string, newer: string])[] = [
  // Numbers.
  ['1.0.0', '2.0.0'], ['1.1.0', '1.2.0'], ['1.0.1', '1.0.2'], ['1.9.9', '2.0.0'], ['1.2.0', '1.10.0'], ['0.0.0', '0.0.1'],
  ['0.9.9', '1.0.0'], ['100.200.300', '100.200.301'], ['9.0.0', '10.0.0'], ['2.9.10', '2.10.9'], ['2024.12.1', '2025.1.1'],
  ['20250101.0.0', '20250102.0.0'], ['9007199254740991.0.0', '9007199254740993.0.0'], ['1.0.9', '1.0.10'],
  // Pre-releases.
  ['1.0.0-alpha', '1.0.0'], ['1.0.0-alpha', '1.0.0-beta'], ['1.0.0-1', '1.0.0-2'], ['1.0.0-2', '1.0.0-10'],
  ['1.0.0-alpha.1', '1.0.0-alpha.2'], ['1.0.0-alpha', '1.0.0-rc'], ['1.0.0-alpha', '1.0.0-alpha.1'], ['1.0.0-1', '1.0.0-alpha'],
  ['1.0.0-alpha.9', '1.0.0-alpha.beta'], ['1.0.0-RC.1', '1.0.0-rc.1'], ['1.9.0', '2.0.0-rc.1'], ['2.0.0-rc.1', '2.0.0'],
  ['1.0.0-pre-release', '1.0.0'], ['1.0.0-alpha-beta', '1.0.0-alpha0'], ['1.0.0-0', '1.0.0-0.0'], ['1.0.0-rc.9', '1.0.0-rc.10'],
  // Build metadata, which semver leaves open.
  ['1.0.0', '1.0.0+1'], ['1.0.0+2', '1.0.0+10'], ['1.28.4+k3s1', '1.28.4+k3s2'], ['1.0.0-rc.1+build', '1.0.0'], ['1.0.0+z', '1.0.1'],
  ['1.0.0+001', '1.0.0+2'],
  // A `v` before both.
  ['v1.0.0', 'v2.0.0'], ['v2.0.0', 'v10.0.0'], ['v1.9.0', 'v1.10.0'], ['v1.5.0', 'v2.0.0'], ['v1.0.9', 'v1.0.10'], ['v0.0.0', 'v0.0.1'],
  ['v2.0.0-rc.1', 'v2.0.0'], ['v2.0.0-rc.1', 'v2.0.0-rc.2'], ['v1.0.0-2', 'v1.0.0-10'], ['v1.0.0-1', 'v1.0.0-alpha'],
  ['v1.0.0-alpha', 'v1.0.0-alpha.1'], ['v1.9.9', 'v2.0.0-0'], ['v1.0.0+1', 'v1.0.0+2'], ['v1.0.0', 'v1.0.0+1'],
  ['v2021.3.15', 'v2021.3.16'], ['v9007199254740991.0.0', 'v9007199254740993.0.0'],
  // A `v` before one.
  ['1.0.0', 'v2.0.0'], ['v1.0.0', '2.0.0'], ['1.9.0', 'v2.0.0'], ['v1.9.0', '1.10.0'], ['1.9.0', 'v1.10.0'], ['v2.0.0-rc.1', '2.0.0'],
  ['2.0.0-rc.1', 'v2.0.0'], ['1.9.0', 'v2.0.0-rc.1'], ['v1.9.0', '2.0.0-rc.1'], ['1.0.0-alpha', 'v1.0.0-beta'],
  ['v1.0.0-rc.9', '1.0.0-rc.10'], ['v0.0.1', '0.0.2'], ['0.0.1', 'v0.0.2'], ['1.0.0+1', 'v1.0.0+2'], ['v1.0.0', '1.0.0+1'],
  ['v1.0.0+1', '1.0.0+2'],
  // Equal precedence: the version without a `v` is newer.
  ['v1.0.0', '1.0.0'], ['v0.0.0', '0.0.0'], ['v10.20.30', '10.20.30'], ['v2.0.0-rc.1', '2.0.0-rc.1'], ['v1.0.0+build.7', '1.0.0+build.7'],
  ['v1.0.0-alpha.1+x', '1.0.0-alpha.1+x'],
  // Other versions are older than all semver versions.
  ['nightly', '0.0.0-0'], ['nightly', 'v0.0.0-0'], ['1', '1.0.0'], ['1.0', '0.0.1'], ['99.0', 'v0.0.1'], ['v1', 'v0.0.1'], ['v1.0', '0.1.0'],
  ['v99', '1.0.0-alpha'], ['1.0.0.0', '0.9.0'], ['01.2.3', '0.0.1'], ['v01.2.3', 'v0.0.1'], ['2021.03.15', '0.0.1'], ['V1.0.0', 'v0.0.1'],
  ['vv1.0.0', '0.0.1'], ['v.1.0.0', '0.0.1'], ['v1.0.0-', '0.0.0-0'], ['v1.0.0-01', '0.0.0-0'], ['2024-05', 'v0.1.0'],
]; // oxfmt-ignore

const numbers = fc.integer({ min: 0, max: 120 }).map(String);
const identifier = fc.oneof(numbers, fc.stringMatching(/^[A-Za-z-][0-9A-Za-z-]{0,3}$/));
const identifiers = fc.array(identifier, { minLength: 1, maxLength: 3 }).map((parts) => parts.join('.'));
const semver = fc
  .tuple(numbers, numbers, numbers, fc.option(identifiers), fc.option(identifiers))
  .map(
    ([a, b, c, pre, build]) =>
      `${a}.${b}.${c}${pre === null ? '' : `-${pre}`}${build === null ? '' : `+${build}`}`,
  );
const perhapsWithV = fc.tuple(fc.constantFrom('', 'v'), semver).map((parts) => parts.join(''));

describe('the order of versions', () => {
  it('is semver precedence for a list of real versions', () => {
    const keys = ORDERED.map((version) => versionKey(version, AT));
    expect([...keys].sort(bytes)).toEqual(keys);
  });

  it('is tested with more than ninety distinct pairs', () => {
    expect(new Set(PAIRS.map(String)).size).toBe(PAIRS.length);
    expect(PAIRS.length).toBeGreaterThanOrEqual(92);
  });

  it.each(PAIRS)('puts %j below %j (reference/catalog), regardless of publication order', (older, newer) => {
    expect([older, newer].map(versionProblem)).toEqual([null, null]);
    for (const [first, second] of [
      [AT, AT],
      [AT, LATER],
      [LATER, AT],
    ] as const)
      expect(bytes(versionKey(older, first), versionKey(newer, second))).toBeLessThan(0);
  });

  it('agrees with the semver library for random versions, with or without a leading v', () => {
    fc.assert(
      fc.property(perhapsWithV, perhapsWithV, (one, other) => {
        const expected = compareBuild(one, other);
        fc.pre(expected !== 0);
        expect(Math.sign(bytes(versionKey(one, AT), versionKey(other, AT)))).toBe(expected);
      }),
      { numRuns: 1_000 },
    );
  });

  it('compares numbers of any length', () => {
    const huge = `${'9'.repeat(80)}.0.0`;
    expect(bytes(versionKey(huge, AT), versionKey('9007199254740991.0.0', AT))).toBeGreaterThan(0);
    expect(bytes(versionKey(`1${'0'.repeat(80)}.0.0`, AT), versionKey(huge, AT))).toBeGreaterThan(0);
  });

  it.each([
    'v1.0',
    'V1.0.0',
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
    expect(versionKey('v1.0.0', AT)).not.toBe(versionKey('1.0.0', AT));
  });
});

describe('the upstream latest version', () => {
  it.each(PAIRS)('is newer than all others, which keep their order: %j, %j', (older, newer) => {
    const called = versionKey(older, AT, true);
    expect(bytes(called, versionKey(newer, LATER))).toBeGreaterThan(0);
    expect(bytes(called, versionKey(newer, AT, true))).toBeLessThan(0);
  });
});

/** Whether the semver library accepts the string unchanged except for a leading "v"; it would also trim blanks. */
function isSemver(version: string): boolean {
  const found = parse(version);
  const build = found?.build.length ? `+${found.build.join('.')}` : '';
  return found !== null && found.version + build === version.replace(/^v/, '');
}

describe('the order of 200 published versions', () => {
  const pairs = REAL_VERSIONS.flatMap((one) => REAL_VERSIONS.map((other) => [one, other] as const));
  const compare = (one: string, other: string) => bytes(versionKey(one, AT), versionKey(other, AT));
  const sorted = [...REAL_VERSIONS].sort(compare);

  it('includes every version of every kind', () => {
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

  it('is total and transitive', () => {
    const place = new Map(sorted.map((version, index) => [version, index]));
    const others = pairs.filter(
      ([one, other]) =>
        Math.sign(compare(one, other)) !== Math.sign((place.get(one) ?? 0) - (place.get(other) ?? 0)),
    );
    expect(others).toEqual([]);
  });

  it('agrees with the semver library for all semver pairs', () => {
    const known = new Set(REAL_VERSIONS.filter(isSemver));
    const compared = pairs.filter(([one, other]) => known.has(one) && known.has(other) && one !== other);
    expect(compared.length).toBeGreaterThan(10_000);
    const others = compared.filter(
      ([one, other]) =>
        Math.sign(compare(one, other)) !== (compareBuild(one, other) || (one.startsWith('v') ? -1 : 1)),
    );
    expect(others).toEqual([]);
  });

  it('puts other versions below semver, by time of publication', () => {
    const others = REAL_VERSIONS.filter((version) => !isSemver(version));
    expect(new Set(sorted.slice(0, others.length))).toEqual(new Set(others));
    const keys = others.map((version, index) => versionKey(version, new Date(AT.getTime() + index)));
    expect([...keys].sort(bytes)).toEqual(keys);
    const lowest = versionKey(sorted[others.length] ?? '', AT);
    for (const version of others) expect(bytes(versionKey(version, LATER), lowest)).toBeLessThan(0);
  });
});

const RANGES = [
  '^1.0', '^1', '~1', '~1.2.3', '~> 2.1', '>=1', '>= 1.0.0', '<=2', '>1.0.0', '<2', '=1.0.0', '==1.2.*', '!=1.0', '^v1.2', ' ^1.0 ',
  '^1.x', '>=1 <2', '>=1,<2', '>=1, <2', '1.0, <2', '1 ||', '||', '1.0 <2', '^1.0 || ^2.0', '>=1.0.0-rc.1', '^1.0.0+build', '1 - 2', '1.2.3 - 2.0.0',
  'v1.2 - v2', '1.0 || 2.0', '1||2', '1.0.0-rc.1 || 2', '1 || 2.x || 3', '*', '1.x', '1.X', '1.*', '1.2.x', '1.x.x',
  'v1.x', 'V1.x', 'x.1', '*.*', '1.x-beta', '1.2.*-rc.1', '1.2.3.x', '1.x+build',
]; // oxfmt-ignore

const LATEST = ['latest', 'LATEST', 'Latest', 'lAtEsT'];

/** Versions that are not semver, or that resemble a range. */
const VERSIONS = [
  '1.0.0', '0', '1', 'v1', 'v1.0', '1.0', '1.0.0.0', '2021.03.15', '2025-11-25', '2025.11.25-1', '20250101', '1.0-snapshot',
  '1.0-SNAPSHOT', '1.0.0-x', '1.0.0-x.1', '1.2.3-next.4', '1.0.0-experimental', '2.0.0-alpha.x', '1.0.0+x', '1.x1', 'x', 'X', 'x1', 'xenial',
  'a=b', 'a>b', 'a^b', '1=2', '1-2', '1.0-2.0', 'a||b', 'latest-1', 'newest', 'nightly', '...', '.1', '1\\2', '%2e',
  'r12', 'sha256:0123abcd', 'e83c5163316f89bfbde7d9ab23ca2e25604af290', '1.0.0~rc1', '1:2.3-4', '1,5', '[1.0', 'версия', '🚀',
]; // oxfmt-ignore

describe.each([
  ['an entry', versionProblem],
  ['a package', packageVersionProblem],
])('the version of %s', (_what, problem) => {
  it.each(RANGES)('is not the range %j', (version) => {
    expect(problem(version)).toMatch(/white space|is a range, not one version/);
    expect(problem(version.trim())).toBe(
      `${JSON.stringify(version.trim())} is a range, not one version such as "1.2.3"`,
    );
  });

  it.each(LATEST)('is not %j', (version) => {
    expect(problem(version)).toMatch(/"latest" is not a version/i);
  });

  it.each(VERSIONS)('can be %j', (version) => {
    expect(problem(version)).toBeNull();
  });

  it('is checked in linear time; quadratic time would take minutes', () => {
    for (const text of ['1 ', '1.', '1 - ', '1||', '>=1 ', ', ', '-a', 'x.'])
      problem(`${text.repeat(100_000)}!`);
  });
});

describe('the version of an entry, unlike a package version,', () => {
  it.each(['1.0 beta', 'release 5', '1.0 - beta', 'a || b', 'a/b', '.', '..'])('is not %j', (version) => {
    expect(versionProblem(version)).toMatch(/white space|contains a "\/"|is a path segment/);
    expect(packageVersionProblem(version)).toBeNull();
  });

  it.each([
    ['1\ud800', 'half a character'],
    ['1\u0000', 'control character'],
    ['1\n2', 'control character'],
    [' 1', 'white space'],
    ['1\u00a0', 'white space'],
    ['1\u2003.2', 'white space'],
    ['1\t2', 'control character'],
    ['1\u009b', 'control character'],
    ['1\u202e2', 'text direction'],
    ['1/2', '"/"'],
  ])('cannot be used in URLs and the database: %j', (version, problem) => {
    expect(versionProblem(version)).toContain(problem);
    expect(versionProblem('1🚀2')).toBeNull();
  });
});
