import { hasExpansion } from './shell-line.js';
import type { MemberPackage, PackageKind } from './members.responses.js';

/** A package as a launcher reads it; null if it is a local file; undefined if its name is known only at run time. */
type Named = MemberPackage | null | undefined;

const READERS: Readonly<Record<PackageKind, (text: string) => Named>> = {
  npm: npmPackage,
  pypi: pypiPackage,
  oci: ociImage,
  nuget: nugetPackage,
};

/** Reads the text at a position where a launcher expects a package. */
export function packageOf(kind: PackageKind, text: string): Named {
  return READERS[kind](text);
}

const LOCAL =
  /^(?:\.{0,2}[/\\]|\.{1,2}$|~|file:|link:|[A-Za-z]:[/\\]|\$\{?(?:CLAUDE_)?(?:PLUGIN|PROJECT|CURSOR)_\w+\}?[/\\])/;
/** The tarball of a package in an npm registry. */
const TARBALL = /^https?:\/\/[^/]+\/(?:.*\/)?((?:@|%40)[^/]+(?:\/|%2f)[^/]+|[^/@]+)\/-\/[^/]+$/i;
const NPM_NAME = /^(?:@[^/@]+\/)?[^/@:]+$/;

/** https://docs.npmjs.com/cli/using-npm/package-spec */
function npmPackage(text: string): Named {
  if (LOCAL.test(text)) return null;
  const at = text.indexOf('@', 1);
  const [name, version] = at === -1 ? [text, ''] : [text.slice(0, at), text.slice(at + 1)];
  // An alias, or a package in a registry.
  const target = /^npm:/i.test(text) ? text : /^npm:/i.test(version) ? version : undefined;
  if (target !== undefined) return npmPackage(target.slice('npm:'.length));
  const [, tarball] = TARBALL.exec(text) ?? [];
  if (tarball !== undefined && !hasExpansion(tarball)) return found('npm', unescaped(tarball));
  if (hasExpansion(name)) return undefined;
  if (NPM_NAME.test(name)) {
    if (LOCAL.test(version)) return null;
    return /[:/]/.test(version) ? npmPackage(version) : found('npm', name, version);
  }
  // A repository or an archive, whose package name is unknown: `owner/name`, `github:…`, a URL.
  return found('npm', text);
}

function unescaped(text: string): string {
  return text.replace(/%40/, '@').replace(/%2f/i, '/');
}

const PYPI = /^([A-Za-z0-9](?:[\w.-]*[A-Za-z0-9])?)\s*(?:\[[^\]]*\])?\s*(.*)$/s;

/** https://packaging.python.org/en/latest/specifications/dependency-specifiers/, and uv's `name@version`. */
function pypiPackage(text: string): Named {
  const trimmed = text.trim();
  if (LOCAL.test(trimmed)) return null;
  if (/^[a-z+]+:\/\//i.test(trimmed)) {
    if (hasExpansion(trimmed.split('/').slice(0, 5).join('/'))) return undefined;
    // The version of a repository follows an @ in its path.
    const [, url = trimmed, version = ''] = /^([^#]*\/[^@#]*)@([^#]*)/.exec(trimmed) ?? [];
    const [, wheel] = /\/([A-Za-z0-9][\w.]*)-\d[^/]*\.(?:whl|tar\.gz|zip)(?:#.*)?$/.exec(trimmed) ?? [];
    return wheel === undefined ? found('pypi', url, version) : found('pypi', normalizedPypi(wheel));
  }
  const [, name, rest = ''] = PYPI.exec(trimmed) ?? [];
  if (/^[^\s@=]+\.(?:whl|py|tar\.gz|zip)$/.test(trimmed)) return null;
  if (name === undefined || !/^(?:$|[@=<>~!;(])/.test(rest)) return undefined;
  const [, version = ''] = /^(?:@|===?)\s*([^\s,;@:/]+)\s*(?:;.*)?$/s.exec(rest) ?? [];
  return found('pypi', normalizedPypi(name), version);
}

/** PEP 503. */
export function normalizedPypi(name: string): string {
  return name.toLowerCase().replaceAll(/[-_.]+/g, '-');
}

function ociImage(text: string): Named {
  const image = untagged(text);
  return hasExpansion(image) || image === '' ? undefined : found('oci', text);
}

function nugetPackage(text: string): Named {
  const [name = '', version = ''] = text.split('@', 2);
  if (LOCAL.test(text)) return null;
  return hasExpansion(name) || name === '' ? undefined : found('nuget', name, version);
}

function found(registryType: PackageKind, identifier: string, version = ''): MemberPackage {
  const isKnown = version !== '' && version !== 'latest' && !hasExpansion(version);
  return { registryType, identifier, ...(isKnown ? { version } : {}) };
}

/** Returns an image without its tag and digest. */
function untagged(reference: string): string {
  const [tagged = ''] = reference.split('@', 1);
  const colon = tagged.lastIndexOf(':');
  return colon > tagged.lastIndexOf('/') ? tagged.slice(0, colon) : tagged;
}

/** The spellings of the registry that hosts images without a host. */
const DOCKER_HUB =
  /^(?:(?:index\.|registry-1\.|registry\.hub\.)?docker\.(?:io|com)\/)?(?:library\/(?=[^/]+$))?/;

/** Returns the identifiers with which a rule or search may refer to a package, in lower case. */
export function spellingsOf({ registryType, identifier }: MemberPackage): readonly string[] {
  const lower = identifier.toLowerCase();
  if (registryType === 'pypi') return [...new Set([lower, normalizedPypi(lower)])];
  if (registryType !== 'oci') return [lower];
  const image = untagged(lower.replace(/^(?:docker|oci):\/\//, ''));
  const [host = ''] = image.split('/', 1);
  const hasHost = image.includes('/') && (/[.:]/.test(host) || host === 'localhost');
  if (hasHost && !/(?:^|\.)docker\.(?:io|com)$/.test(host)) return [...new Set([lower, image])];
  const short = image.replace(DOCKER_HUB, '');
  const library = short.includes('/') ? [] : [`library/${short}`, `docker.io/library/${short}`];
  return [...new Set([lower, image, short, `docker.io/${short}`, ...library])];
}
