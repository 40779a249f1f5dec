import type { JSX } from 'preact';
import type { Status } from '../api/types.js';
import { escapeInvisible } from './untrusted-text.js';

const STATUS_TONES: Readonly<Record<Status, string>> = {
  active: 'good',
  deprecated: 'warn',
  archived: 'quiet',
  deleted: 'bad',
};
const TONES = new Map(
  Object.entries({
    ...STATUS_TONES,
    complete: 'good',
    allowed: 'good',
    shown: 'good',
    pending: 'quiet',
    syncing: 'quiet',
    unknown_to_you: 'quiet',
    absent: 'quiet',
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
