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
