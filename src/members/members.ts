import { isBareType } from '../documents/entry-types.js';
import { elements, member } from '../json/json-values.js';
import { MEMBER_KINDS, type MemberKind } from '../source-kinds/member-kinds.js';
import { type MemberPackage, type Members, PACKAGE_KINDS } from './members.responses.js';
import { normalizedPypi, spellingsOf } from './package-names.js';

/** Incremented whenever the result of `readMembers` changes: members stored by earlier versions are computed again. */
export const MEMBERS_VERSION = 3;

/** The contents of a version as rules with `contains` see them; null until the content is stored. */
export type Contents = ReadonlySet<MemberKind> | null;

/** @param members null until the content is stored. */
export function contentsOf(type: string, members: Members | null): Contents {
  // Servers have no content.
  if (!isBareType(type)) return new Set();
  return members && new Set(MEMBER_KINDS.filter((kind) => members[kind] !== undefined));
}

/**
 * Returns whether a rule with this `contains` matches, or could match content that is not stored yet. Unreadable
 * content could be anything, so it also matches.
 */
export function mayContain(contains: readonly MemberKind[] | undefined, contents: Contents): boolean {
  if (contains === undefined || contents === null) return true;
  return contents.has('unreadable') || contains.some((kind) => contents.has(kind));
}

/** Returns every package that a member starts. */
function packagesIn({ servers = [], hooks = [], lsp = [] }: Members): MemberPackage[] {
  return [...servers, ...hooks, ...lsp].flatMap(({ packages = [] }) => packages);
}

/** The kinds of members that searches can name. */
export const TOKEN_KINDS = ['npm:', 'pypi:', 'oci:', 'nuget:', 'url:', 'hook:', 'skill:'] as const;

/** Returns the search tokens of the members: `npm:left-pad`, `hook:pretooluse`. */
export function memberTokens(members: Members): readonly string[] {
  const { servers = [], hooks = [], skills = [], commands = [], agents = [] } = members;
  return distinct([
    ...packagesIn(members).flatMap(packageTokens),
    ...servers.flatMap(({ url }) => (url === undefined ? [] : [urlToken(url)])),
    ...hooks.map(({ event }) => `hook:${event.toLowerCase()}`),
    ...named('skill', skills),
    ...named('server', servers),
    ...[...commands, ...agents].map((name) => `name:${name.toLowerCase()}`),
  ]);
}

/** Returns the tokens of the packages and remotes of a server's document. */
export function serverTokens(document: unknown): readonly string[] {
  const packages = elements(member(document, 'packages')).flatMap((one) => {
    const [registryType, identifier] = ['registryType', 'identifier'].map((key) => member(one, key));
    const kind = PACKAGE_KINDS.find((known) => known === registryType);
    return kind && typeof identifier === 'string' ? packageTokens({ registryType: kind, identifier }) : [];
  });
  const urls = elements(member(document, 'remotes')).map((one) => member(one, 'url'));
  return distinct([...packages, ...urls.filter((url) => typeof url === 'string').map(urlToken)]);
}

/** Returns the names in tokens, as words of a text search. */
export function memberNames(tokens: readonly string[]): readonly string[] {
  return tokens
    .filter((token) => !/^(?:url|hook):/.test(token))
    .map((token) => token.slice(token.indexOf(':') + 1));
}

/** Returns the token that a search specifies; null if its kind is unknown. */
export function searchedToken(text: string): string | null {
  const trimmed = text.trim();
  const kind = TOKEN_KINDS.find((known) => trimmed.toLowerCase().startsWith(known));
  if (kind === undefined) return null;
  const name = trimmed.slice(kind.length);
  if (kind === 'url:') return urlToken(name);
  return kind + (kind === 'pypi:' ? normalizedPypi(name) : name.toLowerCase());
}

/** Whether tokens include this one; a URL also includes everything below it. */
export function hasToken(tokens: readonly string[] | undefined, token: string): boolean {
  if (!tokens) return false;
  return (
    tokens.includes(token) || (token.startsWith('url:') && tokens.some((one) => one.startsWith(`${token}/`)))
  );
}

function packageTokens(one: MemberPackage): string[] {
  return spellingsOf(one).map((name) => `${one.registryType}:${name}`);
}

/** The normal form of a URL, without query and trailing slash. */
function urlToken(url: string): string {
  const normal = URL.canParse(url) ? new URL(url).href : url.toLowerCase();
  return `url:${normal.replace(/[?#].*$/s, '').replace(/\/+$/, '')}`;
}

function named(kind: string, members: readonly { readonly name: string }[]): string[] {
  return members.map(({ name }) => `${kind}:${name.toLowerCase()}`);
}

function distinct(texts: readonly string[]): readonly string[] {
  return [...new Set(texts)];
}
