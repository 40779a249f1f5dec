/** https://semver.org, strictly: `v1.0.0` and `1.0` are other kinds of version. */
const SEMVER =
  /^(0|[1-9]\d*)\.(0|[1-9]\d*)\.(0|[1-9]\d*)(?:-((?:0|[1-9]\d*|\d*[A-Za-z-][0-9A-Za-z-]*)(?:\.(?:0|[1-9]\d*|\d*[A-Za-z-][0-9A-Za-z-]*))*))?(?:\+([0-9A-Za-z-]+(?:\.[0-9A-Za-z-]+)*))?$/;

const IS_SEMVER = '1';
const IS_OTHER = '0';
// Ends a list of identifiers: below every identifier, so that fewer of them sort lower.
const END = ' ';
// Ends one identifier: below every character of identifiers, so that "a" sorts below "a-".
const STOP = '!';
// Stands for "no pre-release": above every list of them.
const RELEASE = '~';

/**
 * A key whose byte order (COLLATE "C") is the order of versions: semver by its precedence (§11), a pre-release below its
 * release, build metadata and then the text itself deciding between equals. Whatever is not semver sorts below all that
 * is, by time of publication. Computed here alone, so that SQL and TypeScript can't disagree about "latest".
 */
export function versionKey(version: string, publishedAt: Date): string {
  const match = SEMVER.exec(version);
  if (!match) return `${IS_OTHER}${String(publishedAt.getTime()).padStart(16, '0')}${END}${version}`;
  const [, major = '', minor = '', patch = '', prerelease, build] = match;
  const pre = prerelease === undefined ? RELEASE : identifiers(prerelease, numericOrText);
  const meta = build === undefined ? END : identifiers(build, numericOrText);
  return `${IS_SEMVER}${number(major)}${number(minor)}${number(patch)}${pre}${meta}${version}`;
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
