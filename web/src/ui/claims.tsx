import type { JSX } from 'preact';
import type { Claims } from '../api/types.js';
import { Plain } from './plain.js';

/** Claims as chips, a key with its values. */
export function ClaimChips({ claims, none = 'no claims' }: { claims: Claims; none?: string }): JSX.Element {
  const entries = Object.entries(claims);
  if (entries.length === 0) return <span class="muted">{none}</span>;
  return (
    <span class="chips">
      {entries.map(([key, value]) => (
        <span class="chip" key={key}>
          <Plain text={key} class="chip-key" /> <Plain text={[value].flat().join(', ')} />
        </span>
      ))}
    </span>
  );
}

/** The same claims are the same text, whatever their order. */
export function claimsKey(claims: Claims): string {
  const sorted = Object.entries(claims).map(([key, value]) => [key, [value].flat().sort()] as const);
  return JSON.stringify(sorted.sort(([one], [other]) => (one < other ? -1 : 1)));
}
