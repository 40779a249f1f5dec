/** https://semver.org, strict (`1.0` is not semver), with an optional leading `v` as in Git tags. */
const SEMVER =
  /^(v?)(0|[1-9]\d*)\.(0|[1-9]\d*)\.(0|[1-9]\d*)(?:-((?:0|[1-9]\d*|\d*[A-Za-z-][0-9A-Za-z-]*)(?:\.(?:0|[1-9]\d*|\d*[A-Za-z-][0-9A-Za-z-]*))*))?(?:\+([0-9A-Za-z-]+(?:\.[0-9A-Za-z-]+)*))?$/;

/** Key prefix of the version that its upstream registry marks as latest; sorts above all other keys. */
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
