import { isLine, preview } from './document-problem.js';

/** https://semver.org, strictly (`1.0` is another kind of version), but for the `v` that tags of Git begin with. */
const SEMVER =
  /^(v?)(0|[1-9]\d*)\.(0|[1-9]\d*)\.(0|[1-9]\d*)(?:-((?:0|[1-9]\d*|\d*[A-Za-z-][0-9A-Za-z-]*)(?:\.(?:0|[1-9]\d*|\d*[A-Za-z-][0-9A-Za-z-]*))*))?(?:\+([0-9A-Za-z-]+(?:\.[0-9A-Za-z-]+)*))?$/;

/** What the key of a version begins with that its registry calls the latest: above all other keys. Its own key follows. */
export const UPSTREAM_LATEST = '2';
const IS_SEMVER = '1';
const IS_OTHER = '0';
// Ends a list of identifiers: below every identifier, so that fewer of them sort lower.
const END = ' ';
// Ends one identifier: below every character of identifiers, so that "a" sorts below "a-".
const STOP = '!';
// Stands for "no pre-release": above every list of them.
const RELEASE = '~';

/**
 * A key whose byte order (COLLATE "C") is the order of versions (contract §6): semver by its precedence (§11), a pre-release
 * below its release, build metadata deciding between equals, then that the one without a `v` is newer, and then the text
 * itself. Whatever is not semver sorts below all that is, by time of publication. Above all is what the registry it comes from
 * calls its latest. Computed here alone, so that SQL and TypeScript can't disagree about "latest".
 */
export function versionKey(version: string, publishedAt: Date, isUpstreamLatest = false): string {
  const own =
    semverKey(version) ?? `${IS_OTHER}${String(publishedAt.getTime()).padStart(16, '0')}${END}${version}`;
  return isUpstreamLatest ? `${UPSTREAM_LATEST}${own}` : own;
}

/**
 * The key of the same version today. Cursors hold keys and never expire (contract §6); in those that were made when `v1.0.0` did
 * not count as semver, it has a key by time.
 */
export function currentKey(key: string): string {
  const version = /^0\d{16} (v.+)$/s.exec(key)?.[1];
  return (version === undefined ? null : semverKey(version)) ?? key;
}

function semverKey(version: string): string | null {
  const match = SEMVER.exec(version);
  if (!match) return null;
  const [, v, major = '', minor = '', patch = '', prerelease, build] = match;
  const pre = prerelease === undefined ? RELEASE : identifiers(prerelease, numericOrText);
  const meta = build === undefined ? END : identifiers(build, numericOrText);
  const text = v ? `${STOP}${version}` : version;
  return `${IS_SEMVER}${number(major)}${number(minor)}${number(patch)}${pre}${meta}${text}`;
}

function identifiers(list: string, encode: (identifier: string) => string): string {
  return list.split('.').map(encode).join('') + END;
}

// §11.4: numeric identifiers compare as numbers and sort below the others.
function numericOrText(identifier: string): string {
  return /^\d+$/.test(identifier) ? `1${number(identifier)}` : `2${identifier}${STOP}`;
}

// The length first makes digits of any number compare as numbers. A version has at most 255 characters.
function number(digits: string): string {
  const significant = digits.replace(/^0+(?=\d)/, '');
  return String(significant.length).padStart(3, '0') + significant;
}

/** What a version of digits and wildcards looks like: `1`, `v1.2.x`, `1.0.0-rc.1+build`. */
const VERSION = /^v?(?:\d+|[x*])(?:\.(?:\d+|[x*]))*(?:-[0-9a-z.-]+)?(?:\+[0-9a-z.-]+)?$/i;
/** A wildcard stands for a part of the version itself: `1.0.0-x` is a pre-release like any other, and `x` may be a name. */
const WILDCARD = /^v?(?:\*|x\.|(?:\d+\.)+[x*])/i;
/** No version begins with a comparison, so what follows its number does not matter. */
const COMPARISON = /^(?:\^|~>?|[<>]=?|={1,3}|!=)\s*v?(?:\d|[x*](?![0-9a-z]))/i;
/** What stands between the versions of a range: `||`, ` - `, and blanks or a comma before a further comparison. */
const BETWEEN = /\|\||\s-\s|[\s,](?=[\^~<>=!])/;

/**
 * Why a string can't be the version of an entry, or null. Any string that names one version is allowed, semver or not:
 * the server schema of 2025-12-11 forbids ranges and, for packages, "latest"; the official registry (validateVersion in
 * its internal/validators) forbids both for servers and packages alike. In any letter case, because "Latest" would be
 * taken for the alias in addresses.
 */
export function versionProblem(version: string): string | null {
  if (/\p{Surrogate}/u.test(version)) return 'holds half a character (a surrogate without its pair)';
  if (/\p{Cc}/u.test(version)) return 'holds a control character';
  if (!isLine(version)) return 'holds a character that overrides or isolates the direction of text';
  return packageVersionProblem(version) ?? addressProblem(version);
}

// contract §6: it is a step of addresses, and stays one however programs on the way read them.
function addressProblem(version: string): string | null {
  if (/\s/u.test(version)) return `${preview(version)} holds white space`;
  if (version.includes('/')) return `${preview(version)} holds a "/"`;
  return version === '.' || version === '..'
    ? `${preview(version)} is a step in a path, not a version`
    : null;
}

/** The same for the version of a package, which is its package registry's business but for ranges and "latest". */
export function packageVersionProblem(version: string): string | null {
  if (version.toLowerCase() === 'latest')
    return `${preview(version)} names no version, it moves with every release`;
  return isRange(version) ? `${preview(version)} is a range, not one version such as "1.2.3"` : null;
}

// Knows every form the official registry knows (a comparison, a hyphen range, alternatives, wildcards), and beyond it
// lists of comparisons (`>=1 <2`), alternatives of ranges and a lone `*`. Unlike there, an "x" in a pre-release
// (`1.0.0-next.1`) is no wildcard.
function isRange(text: string): boolean {
  const version = text.trim();
  if (COMPARISON.test(version)) return true;
  const parts = version.split(BETWEEN).map((part) => part.trim().replace(/,$/, ''));
  if (parts.length > 1)
    return parts.every((part) => part === '' || COMPARISON.test(part) || VERSION.test(part));
  return VERSION.test(version) && WILDCARD.test(version);
}
