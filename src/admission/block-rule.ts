import { parse, Range } from 'semver';
import type { EntryType, IncomingVersion, VersionName } from '../documents/entry-types.js';
import { toProse } from '../documents/document-problem.js';
import { elements, isObject, member, textMember } from '../json/json-values.js';
import type { MemberPackage, Members } from '../members/members.responses.js';
import { normalizedPypi, spellingsOf } from '../members/package-names.js';
import { matchesGlob } from '../sources/entry-filter.js';
import { toStorable } from '../validation/storable-text.js';
import { REWRITTEN } from './rewrite.js';

/** A package as listed in a block; `identifier` is a glob. */
interface BlockedPackage {
  readonly registryType: string;
  readonly identifier: string;
  /** One version or an npm range. */
  readonly version?: string;
}

/** What a block matches: the members are ANDed, the values of one member ORed (reference/admission). */
export interface BlockRule {
  readonly names?: readonly string[];
  readonly types?: readonly EntryType[];
  readonly versions?: string;
  readonly packages?: readonly BlockedPackage[];
  readonly remotes?: readonly string[];
  readonly digests?: readonly string[];
  readonly reason: string;
}

/** A version to compare with blocks. */
export interface BlockCandidate extends VersionName {
  readonly digest: Buffer;
  /** Returns the text of the document; called only if a block examines documents. */
  readonly document: () => string | Buffer;
  /** The members of the stored content; null if none is stored. */
  readonly members: Members | null;
}

export function candidateOf(
  { type, name, version, digest, document }: IncomingVersion,
  members: Members | null,
): BlockCandidate {
  return { type, name, version, digest, document: () => document, members };
}

export interface BlockMatch {
  readonly block: CompiledBlock;
  /** The member of the content that matches; empty if the document matches. */
  readonly member: string;
}

/**
 * Returns whether a version is within an npm range, which includes prereleases. A version that is not semver matches
 * only `*`.
 */
export function isInRange(version: string, range: string): boolean {
  if (range.trim() === '*') return true;
  const parsed = parse(version);
  return parsed !== null && new Range(range, { includePrerelease: true }).test(parsed);
}

/** A block prepared for comparing many versions. */
export class CompiledBlock {
  private readonly types: ReadonlySet<string> | null;
  private readonly names: Globs | null;
  private readonly digests: ReadonlySet<string> | null;
  private readonly remotes: Globs | null;
  private readonly packages:
    | readonly {
        readonly registryType: string;
        readonly identifier: Globs;
        readonly version: string | undefined;
      }[]
    | null;

  constructor(
    readonly id: string,
    readonly rule: BlockRule,
    /** Different after each change. */
    readonly revision = '',
  ) {
    const { types, names, packages, remotes, digests } = rule;
    this.types = types ? new Set(types) : null;
    this.names = names ? new Globs(names) : null;
    this.digests = digests ? new Set(digests.map((digest) => digest.toLowerCase())) : null;
    this.remotes = remotes ? new Globs(remotes) : null;
    this.packages =
      packages?.map(({ registryType, identifier, version }) => ({
        registryType: registryType.toLowerCase(),
        identifier: new Globs([comparable(registryType.toLowerCase(), identifier)]),
        version,
      })) ?? null;
  }

  /** Whether the block examines documents and content. */
  get readsDocuments(): boolean {
    return this.packages !== null || this.remotes !== null;
  }

  /**
   * @param document returns the parsed document.
   * @returns `BlockMatch.member`; null if the block does not match.
   */
  match(candidate: BlockCandidate, document: () => unknown): string | null {
    const { type, name, version, digest, members } = candidate;
    if (this.types?.has(type) === false || this.names?.match(name) === false) return null;
    if (this.digests?.has(digest.toString('hex')) === false) return null;
    const { versions } = this.rule;
    if (versions !== undefined && !isInRange(version, versions)) return null;
    if (!this.readsDocuments) return '';
    const content = document();
    const { remotes } = this;
    const hasUrl = (one: unknown) => remotes === null || hasRemote(remotes, one);
    const byRemote =
      remotes === null || someOf(elements(member(content, 'remotes')), hasUrl)
        ? ''
        : someMember(urlsOf(members), hasUrl);
    const hasPackage = (one: unknown) => this.hasPackage(one);
    const byPackage =
      this.packages === null || someOf(packagesOf(content), hasPackage)
        ? ''
        : someMember(launchesOf(members), hasPackage);
    const unreadable = unreadableIn(members);
    const [remote, launched] = [byRemote ?? unreadable, byPackage ?? unreadable];
    return remote === null || launched === null ? null : launched || remote;
  }

  private hasPackage(given: unknown): boolean {
    const registryType = (textMember(given, 'registryType') ?? '').toLowerCase();
    const identifiers = identifiersOf(given).map((identifier) => comparable(registryType, identifier));
    const version = textMember(given, 'version') ?? '';
    return (this.packages ?? []).some(
      (blocked) =>
        blocked.registryType === registryType &&
        identifiers.some((identifier) => isTooLong(identifier) || blocked.identifier.match(identifier)) &&
        // A package without a version installs any version, including the blocked one.
        (blocked.version === undefined ||
          version === '' ||
          version === blocked.version ||
          isInBlockedRange(version, blocked.version)),
    );
  }
}

/** Returns the blocks that match, parsing the document at most once. */
export function matchingBlocks(
  blocks: readonly CompiledBlock[],
  candidate: BlockCandidate,
): readonly BlockMatch[] {
  let parsed: { readonly document: unknown } | undefined;
  const document = () => {
    parsed ??= { document: JSON.parse(candidate.document().toString()) as unknown };
    return parsed.document;
  };
  return blocks.flatMap((block) => {
    const found = block.match(candidate, document);
    return found === null ? [] : [{ block, member: found }];
  });
}

/** Case-insensitive, so that `Com.Evil/x` does not escape a block of `com.evil/*`. */
class Globs {
  private readonly patterns: readonly string[];

  constructor(patterns: readonly string[]) {
    this.patterns = patterns.map((pattern) => pattern.toLowerCase());
  }

  match(text: string): boolean {
    const lower = text.toLowerCase();
    return this.patterns.some((pattern) => pattern === lower || matchesGlob(pattern, lower));
  }
}

function isInBlockedRange(version: string, range: string): boolean {
  try {
    return isInRange(version, range);
  } catch {
    return false;
  }
}

// The tag or digest of an image is part of its identifier.
function identifiersOf(given: unknown): string[] {
  const identifier = textMember(given, 'identifier') ?? '';
  const [untagged = ''] = identifier.split('@', 1);
  const colon = untagged.lastIndexOf(':');
  const image = colon > untagged.lastIndexOf('/') ? untagged.slice(0, colon) : untagged;
  return [identifier, image, textMember(given, 'url') ?? ''].filter((text) => text !== '');
}

// Blocks examine the packages that the upstream sent, even if the document has been rewritten; see REWRITTEN.
function packagesOf(document: unknown): unknown[] {
  const meta = isObject(document) ? document['_meta'] : undefined;
  return [...elements(member(document, 'packages')), ...elements(member(meta, REWRITTEN))];
}

function comparable(registryType: string, identifier: string): string {
  return registryType === 'pypi' ? normalizedPypi(identifier) : identifier;
}

/** The part of a member to compare, and the member's name to show. */
type MemberPart = readonly [value: unknown, member: string];

function launchesOf(members: Members | null): MemberPart[] {
  const { servers = [], hooks = [], lsp = [] } = members ?? {};
  const parts = (packages: readonly MemberPackage[] | undefined, member: string): MemberPart[] =>
    (packages ?? []).flatMap((launched) =>
      spellingsOf(launched).map((identifier): MemberPart => {
        const { registryType, version = '' } = launched;
        return [
          { registryType, identifier, version },
          `${member} starts ${registryType}:${launched.identifier}`,
        ];
      }),
    );
  return [
    ...servers.flatMap(({ name, packages }) => parts(packages, `server ${name}`)),
    ...hooks.flatMap(({ event, packages }) => parts(packages, `hook ${event}`)),
    ...lsp.flatMap(({ name, packages }) => parts(packages, `language server ${name}`)),
  ];
}

function urlsOf(members: Members | null): MemberPart[] {
  return (members?.servers ?? []).flatMap(({ name, url }): MemberPart[] =>
    url === undefined ? [] : [[{ url }, `server ${name} connects to ${url}`]],
  );
}

/** Returns the first member that matches; null if none does. As in `someOf`, too many members count as a match. */
function someMember(parts: readonly MemberPart[], matches: (value: unknown) => boolean): string | null {
  if (parts.length > MAX_COMPARED_MEMBERS) return `more than ${MAX_COMPARED_MEMBERS} package names or URLs`;
  const found = parts.find(([value]) => matches(value));
  return found ? shownMember(found[1]) : null;
}

/** Unreadable content could be anything. */
function unreadableIn(members: Members | null): string | null {
  const [path] = members?.unreadable ?? [];
  return path === undefined ? null : shownMember(`unreadable file ${path}`);
}

const MAX_SHOWN = 200;

function shownMember(text: string): string {
  return toProse(toStorable(text, MAX_SHOWN));
}

// A URL is compared as written and in its normal form.
function hasRemote(remotes: Globs, remote: unknown): boolean {
  const url = textMember(remote, 'url') ?? '';
  if (isTooLong(url)) return true;
  return remotes.match(url) || (URL.canParse(url) && remotes.match(new URL(url).href));
}

/** Comparing more packages, remotes or text would delay other requests, so such a version counts as a match. */
const MAX_COMPARED = 200;
/** A member has up to six spellings. */
const MAX_COMPARED_MEMBERS = 1_000;
const MAX_TEXT = 2_000;

function someOf(values: readonly unknown[], matches: (value: unknown) => boolean): boolean {
  return values.length > MAX_COMPARED || values.some(matches);
}

function isTooLong(text: string): boolean {
  return text.length > MAX_TEXT;
}
