import type { JSX } from 'preact';
import { CopyButton } from './copy-button.js';
import { visible } from './visible.js';

/** Characters that are shown; what is copied is whole. */
const LONGEST = 40_000;

/** Text for a machine, to be copied as it is and shown with what cannot be seen in it written out. */
export function Code({ text, label }: { text: string; label: string }): JSX.Element {
  return (
    <div class="code">
      <CopyButton text={text} />
      <pre tabIndex={0} role="region" aria-label={label}>
        {visibleLines(text.slice(0, LONGEST))}
        {text.length > LONGEST && '…'}
      </pre>
    </div>
  );
}

function visibleLines(text: string): string {
  return text.split('\n').map(visible).join('\n');
}
