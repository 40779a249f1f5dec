import type { JSX } from 'preact';
import { visible } from './visible.js';
import { wordFor } from '../api/word-for.js';

const TONES: Readonly<Record<string, string>> = {
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
};

/** A state, in its own word; the colour says nothing that the word does not. */
export function Badge({ state, text = state }: { state: string; text?: string }): JSX.Element {
  return (
    <span class={`badge ${wordFor(TONES, state) ?? 'plain'}`}>{visible(text.replaceAll('_', ' '))}</span>
  );
}
