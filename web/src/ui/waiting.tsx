import type { JSX } from 'preact';

/** Shown after a moment only, as most answers are there before. It ends: requests do not wait for ever. */
export function Waiting({ what = 'Loading' }: { what?: string }): JSX.Element {
  return (
    <p class="waiting" role="status">
      {what}…
    </p>
  );
}
