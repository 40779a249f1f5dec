import { isLine } from './text-characters.js';
import { preview } from './document-problem.js';

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
