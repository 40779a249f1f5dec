import { isBareType } from '../documents/entry-types.js';
import { kindsIn } from '../members/members.js';
import type { Members } from '../members/members.responses.js';
import type { MemberKind } from '../source-kinds/member-kinds.js';
import type { HoldReason } from './verdict.js';

/** The contents of a version as rules with `contains` see them; null until the content is stored. */
export type Contents = ReadonlySet<MemberKind> | null;

const NOTHING: Contents = new Set<MemberKind>();

/** @param members null until the content is stored. */
export function contentsOf(type: string, members: Members | null): Contents {
  // Servers have no content.
  if (!isBareType(type)) return NOTHING;
  return members && new Set(kindsIn(members));
}

/**
 * Returns whether a rule with this `contains` matches, or could match content that is not stored yet. Unreadable
 * content could be anything, so it also matches.
 */
export function mayContain(contains: readonly MemberKind[] | undefined, contents: Contents): boolean {
  if (contains === undefined || contents === null) return true;
  return contents.has('unreadable') || contains.some((kind) => contents.has(kind));
}

export const CONTENT_MISSING: HoldReason = {
  policy: 'content',
  message: 'A rule about its contents can only decide once they are stored',
};

/** The hold reason of an item that is judged again because its content is now stored. */
export function contentStored(now: Date): HoldReason {
  return { policy: 'content', message: 'Its content is stored', dueAt: now.toISOString() };
}
