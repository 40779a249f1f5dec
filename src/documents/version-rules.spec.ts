import { describe, expect, it } from 'vitest';
import { packageVersionProblem, versionProblem } from './version-rules.js';

const RANGES = [
  '^1.0', '^1', '~1', '~1.2.3', '~> 2.1', '>=1', '>= 1.0.0', '<=2', '>1.0.0', '<2', '=1.0.0', '==1.2.*', '!=1.0', '^v1.2', ' ^1.0 ',
  '^1.x', '>=1 <2', '>=1,<2', '>=1, <2', '1.0, <2', '1 ||', '||', '1.0 <2', '^1.0 || ^2.0', '>=1.0.0-rc.1', '^1.0.0+build', '1 - 2', '1.2.3 - 2.0.0',
  'v1.2 - v2', '1.0 || 2.0', '1||2', '1.0.0-rc.1 || 2', '1 || 2.x || 3', '*', '1.x', '1.X', '1.*', '1.2.x', '1.x.x',
  'v1.x', 'V1.x', 'x.1', '*.*', '1.x-beta', '1.2.*-rc.1', '1.2.3.x', '1.x+build',
]; // prettier-ignore

const LATEST = ['latest', 'LATEST', 'Latest', 'lAtEsT'];

/** Versions that semver does not know, or that look a little like a range. */
const VERSIONS = [
  '1.0.0', '0', '1', 'v1', 'v1.0', '1.0', '1.0.0.0', '2021.03.15', '2025-11-25', '2025.11.25-1', '20250101', '1.0-snapshot',
  '1.0-SNAPSHOT', '1.0.0-x', '1.0.0-x.1', '1.2.3-next.4', '1.0.0-experimental', '2.0.0-alpha.x', '1.0.0+x', '1.x1', 'x', 'X', 'x1', 'xenial',
  'a=b', 'a>b', 'a^b', '1=2', '1-2', '1.0-2.0', 'a||b', 'latest-1', 'newest', 'nightly', '...', '.1', '1\\2', '%2e',
  'r12', 'sha256:0123abcd', 'e83c5163316f89bfbde7d9ab23ca2e25604af290', '1.0.0~rc1', '1:2.3-4', '1,5', '[1.0', 'версия', '🚀',
]; // prettier-ignore

describe.each([
  ['an entry', versionProblem],
  ['a package', packageVersionProblem],
])('the version of %s', (_what, problem) => {
  it.each(RANGES)('may not be the range %j', (version) => {
    expect(problem(version)).toMatch(/white space|is a range, not one version/);
    expect(problem(version.trim())).toBe(
      `${JSON.stringify(version.trim())} is a range, not one version such as "1.2.3"`,
    );
  });

  it.each(LATEST)('may not be %j', (version) => {
    expect(problem(version)).toMatch(/"latest" names no version/i);
  });

  it.each(VERSIONS)('may be %j', (version) => {
    expect(problem(version)).toBeNull();
  });

  it('is judged at once, however long it is', () => {
    const started = performance.now();
    for (const text of ['1 ', '1.', '1 - ', '1||', '>=1 ', ', ', '-a', 'x.'])
      problem(`${text.repeat(100_000)}!`);
    expect(performance.now() - started).toBeLessThan(20_000);
  });
});

describe('the version of an entry alone', () => {
  it.each(['1.0 beta', 'release 5', '1.0 - beta', 'a || b', 'a/b', '.', '..'])(
    'may not be %j, which that of a package may',
    (version) => {
      expect(versionProblem(version)).toMatch(/white space|holds a "\/"|is a step in a path/);
      expect(packageVersionProblem(version)).toBeNull();
    },
  );

  it.each([
    ['1\ud800', 'half a character'],
    ['1\u0000', 'control character'],
    ['1\n2', 'control character'],
    [' 1', 'white space'],
    ['1\u00a0', 'white space'],
    ['1\u2003.2', 'white space'],
    ['1\t2', 'control character'],
    ['1\u009b', 'control character'],
    ['1\u202e2', 'direction of text'],
    ['1/2', '"/"'],
  ])('stands in addresses and in the database, so it may not be %j', (version, problem) => {
    expect(versionProblem(version)).toContain(problem);
    expect(versionProblem('1🚀2')).toBeNull();
  });
});
