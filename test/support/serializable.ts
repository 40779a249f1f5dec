import { isDeepStrictEqual } from 'node:util';
import type { Claims } from '../../dist/claims/claims.js';

/** The versions published under a name, in order of publication; undefined if there are none. */
export interface Published {
  readonly claims: Claims;
  readonly versions: readonly string[];
}

/** An operation on a name. */
export type Action =
  | { readonly publish: string; readonly claims: Claims }
  | { readonly remove: string }
  | { readonly relabel: Claims };

/** An operation and its response status. */
export interface Answered {
  readonly action: Action;
  readonly status: number;
}

/**
 * Whether some serial order of the operations explains all responses and the final state. If none does, two
 * concurrent operations were not isolated.
 */
export function isSerializable(
  before: Published | undefined,
  answers: readonly Answered[],
  after: Published | undefined,
): boolean {
  if (answers.length === 0) return isDeepStrictEqual(sorted(before), sorted(after));
  return answers.some((first, index) => {
    const step = act(before, first.action);
    return (
      step.status === first.status &&
      isSerializable(
        step.after,
        answers.filter((_answer, other) => other !== index),
        after,
      )
    );
  });
}

// Simplified rules: later versions have the first version's claims, a version is published once, and the
// entry is deleted with its last version.
function act(
  before: Published | undefined,
  action: Action,
): { readonly status: number; readonly after: Published | undefined } {
  if ('publish' in action) {
    const { claims, versions } = before ?? { claims: action.claims, versions: [] };
    if (!isDeepStrictEqual(claims, action.claims)) return { status: 400, after: before };
    if (versions.includes(action.publish)) return { status: 409, after: before };
    return { status: 201, after: { claims, versions: [...versions, action.publish] } };
  }
  if (!before) return { status: 404, after: before };
  if ('relabel' in action) return { status: 204, after: { ...before, claims: action.relabel } };
  if (!before.versions.includes(action.remove)) return { status: 404, after: before };
  const versions = before.versions.filter((version) => version !== action.remove);
  return { status: 204, after: versions.length === 0 ? undefined : { ...before, versions } };
}

function sorted(published: Published | undefined): Published | undefined {
  return published && { ...published, versions: [...published.versions].sort() };
}
