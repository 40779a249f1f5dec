import { isLine, preview } from './document-problem.js';

/** https://semver.org, strict (`1.0` is not semver), with an optional leading `v` as in Git tags. */
const SEMVER =
  /^(v?)(0|[1-9]\d*)\.(0|[1-9]\d*)\.(0|[1-9]\d*)(?:-((?:0|[1-9]\d*|\d*[A-Za-z-][0-9A-Za-z-]*)(?:\.(?:0|[1-9]\d*|\d*[A-Za-z-][0-9A-Za-z-]*))*))?(?:\+([0-9A-Za-z-]+(?:\.[0-9A-Za-z-]+)*))?$/;

/**
 * Key prefix of the version that its upstream registry marks as latest; sorts above all other keys. A client that pages while
 * the upstream's latest changes may see that version twice.
 */
export const UPSTREAM_LATEST = '2';
const IS_SEMVER = '1';
const IS_OTHER = '0';
// Ends a list of identifiers. Sorts below every identifier, so that shorter lists sort lower.
const END = ' ';
// Ends an identifier. Sorts below every character of identifiers, so that "a" sorts below "a-".
const STOP = '!';
// Marks a release. Sorts above every pre-release.
const RELEASE = '~';

/**
 * Returns a key whose byte order (COLLATE "C") is the order of versions (reference/catalog): semver by precedence (§11), a
 * pre-release below its release; ties are broken by build metadata, then a missing `v` (newer), then the text. Other
 * versions sort below all semver, by time of publication. The version that its upstream registry marks as latest sorts
 * above all. Keys are computed only here, so that SQL and TypeScript agree on "latest".
 */
export function versionKey(version: string, publishedAt: Date, isUpstreamLatest = false): string {
  const own =
    semverKey(version) ?? `${IS_OTHER}${String(publishedAt.getTime()).padStart(16, '0')}${END}${version}`;
  return isUpstreamLatest ? `${UPSTREAM_LATEST}${own}` : own;
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

// §11.4: numeric identifiers compare as numbers and sort below other identifiers.
function numericOrText(identifier: string): string {
  return /^\d+$/.test(identifier) ? `1${number(identifier)}` : `2${identifier}${STOP}`;
}

// The length prefix makes strings of digits compare as numbers. A version has at most 255 characters.
function number(digits: string): string {
  const significant = digits.replace(/^0+(?=\d)/, '');
  return String(significant.length).padStart(3, '0') + significant;
}

/** A version of digits and wildcards: `1`, `v1.2.x`, `1.0.0-rc.1+build`. */
const VERSION = /^v?(?:\d+|[x*])(?:\.(?:\d+|[x*]))*(?:-[0-9a-z.-]+)?(?:\+[0-9a-z.-]+)?$/i;

/** Wildcards occur only in the version core: `1.0.0-x` is an ordinary pre-release, and a lone `x` may be a name. */
const WILDCARD = /^v?(?:\*|x\.|(?:\d+\.)+[x*])/i;

/** No version begins with a comparison operator, so the text after the number is not checked. */
const COMPARISON = /^(?:\^|~>?|[<>]=?|={1,3}|!=)\s*v?(?:\d|[x*](?![0-9a-z]))/i;

/** Separators in a range: `||`, ` - `, and white space or a comma before another comparison. */
const SEPARATOR = /\|\||\s-\s|[\s,](?=[\^~<>=!])/;

/**
 * Returns why a string is not valid as the version of an entry, or null. Any string that identifies one version is
 * valid, even if it is not semver: the server schema of 2025-12-11 forbids ranges and, for packages, "latest"; the
 * official registry (validateVersion in its internal/validators) forbids both for servers and packages. The check
 * ignores case, because "Latest" in a URL could be confused with the alias.
 */
export function versionProblem(version: string): string | null {
  if (/\p{Surrogate}/u.test(version)) return 'contains an unpaired surrogate (half a character)';
  if (/\p{Cc}/u.test(version)) return 'contains a control character';
  if (!isLine(version))
    return 'contains an invisible character, or one that overrides or isolates the text direction';
  return packageVersionProblem(version) ?? pathProblem(version);
}

// reference/catalog: a version must be one path segment of a URL, even after proxies normalize the URL.
function pathProblem(version: string): string | null {
  if (/\s/u.test(version)) return `${preview(version)} contains white space`;
  if (version.includes('/')) return `${preview(version)} contains a "/"`;
  return version === '.' || version === '..' ? `${preview(version)} is a path segment, not a version` : null;
}

/** Returns why a string is not valid as the version of a package. All other rules are up to the package registry. */
export function packageVersionProblem(version: string): string | null {
  if (version.toLowerCase() === 'latest')
    return `${preview(version)} is not a version: it changes with every release`;
  return isRange(version) ? `${preview(version)} is a range, not one version such as "1.2.3"` : null;
}

// Detects every form the official registry detects (a comparison, a hyphen range, alternatives, wildcards), and also
// lists of comparisons (`>=1 <2`), alternatives of ranges and a lone `*`. Unlike in the official registry, an "x" in a
// pre-release (`1.0.0-next.1`) is not a wildcard.
function isRange(text: string): boolean {
  const version = text.trim();
  if (COMPARISON.test(version)) return true;
  const parts = version.split(SEPARATOR).map((part) => part.trim().replace(/,$/, ''));
  if (parts.length > 1)
    return parts.every((part) => part === '' || COMPARISON.test(part) || VERSION.test(part));
  return VERSION.test(version) && WILDCARD.test(version);
}
