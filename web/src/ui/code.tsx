import type { JSX } from 'preact';
import { CopyButton } from './copy-button.js';
import { visible } from './visible.js';

/** Text for a machine, to be copied as it is and shown with what cannot be seen in it written out. */
export function Code({ text, label }: { text: string; label: string }): JSX.Element {
  return (
    <div class="code">
      <CopyButton text={text} />
      <pre tabIndex={0} role="region" aria-label={label}>
        {text.length > 40_000 ? text.slice(0, 40_000) + '…' : visibleLines(text)}
      </pre>
    </div>
  );
}

function visibleLines(text: string): string {
  return text.split('\n').map(visible).join('\n');
}
