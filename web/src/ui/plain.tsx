import type { JSX } from 'preact';
import { visible } from './visible.js';

/** Text of somebody else's: shown as the characters it is made of, and kept from the direction of what stands around it. */
export function Plain({ text, class: name }: { text: string; class?: string }): JSX.Element {
  return (
    <bdi class={name} dir="auto">
      {visible(text)}
    </bdi>
  );
}
