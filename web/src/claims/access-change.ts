import type { Claims } from '../api/types.js';
import { claimPairs } from './claims.js';

/** Sentences about who gains and loses access when an entry's claims change; empty if nothing changes. */
export function accessChange(before: Claims, after: Claims): readonly string[] {
  const missing = (from: Claims, to: Claims) => {
    const known = new Set(claimPairs(to).map((pair) => JSON.stringify(pair)));
    return claimPairs(from)
      .filter((pair) => !known.has(JSON.stringify(pair)))
      .map(([key, value]) => `${key} ${value}`);
  };
  const [isOpenBefore, isOpenAfter] = [before, after].map((claims) => Object.keys(claims).length > 0);
  const required = joined(missing(after, before));
  const dropped = joined(missing(before, after));
  if (isOpenBefore && !isOpenAfter)
    return [`Everybody who sees the entry because they hold ${joined(missing(before, {}))} loses access.`];
  if (!isOpenBefore && isOpenAfter) return [`People who hold ${required} gain access.`];
  return [
    ...(required === '' ? [] : [`People without ${required} lose access.`]),
    ...(dropped === '' ? [] : [`People without ${dropped} gain access, if they hold the rest.`]),
  ];
}

function joined(parts: readonly string[]): string {
  return parts.length < 2 ? (parts[0] ?? '') : `${parts.slice(0, -1).join(', ')} and ${parts.at(-1) ?? ''}`;
}
