import type { JSX } from 'preact';
import { escapeInvisible } from './untrusted-text.js';

const TONES = new Map(
  Object.entries({
    active: 'good',
    complete: 'good',
    allowed: 'good',
    shown: 'good',
    deprecated: 'warn',
    pending: 'quiet',
    syncing: 'quiet',
    unknown_to_you: 'quiet',
    absent: 'quiet',
    archived: 'quiet',
    deleted: 'bad',
    failed: 'bad',
    refused: 'bad',
    hidden: 'bad',
  }),
);

/** A status as text; the colour adds no information. */
export function Badge({ state }: { state: string }): JSX.Element {
  return (
    <span class={`badge ${TONES.get(state) ?? 'plain'}`}>{escapeInvisible(state.replaceAll('_', ' '))}</span>
  );
}
