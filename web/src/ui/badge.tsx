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

/** Display texts for the API's terms. */
const LABELS = new Map(
  Object.entries({
    complete: 'up to date',
    shown: 'visible',
    pending: 'waiting',
    unknown_to_you: 'hidden from you',
    absent: 'not found',
  }),
);

export function stateLabel(state: string): string {
  return LABELS.get(state) ?? escapeInvisible(state.replaceAll('_', ' '));
}

/** A status as text; the color adds no information. */
export function Badge({ state }: { state: string }): JSX.Element {
  return <span class={`badge ${TONES.get(state) ?? 'plain'}`}>{stateLabel(state)}</span>;
}
