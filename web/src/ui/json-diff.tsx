import type { JSX } from 'preact';
import { diffJson } from './line-diff.js';
import { CollapsedList } from './table.js';
import { escapeInvisible } from './untrusted-text.js';

const LINES_SHOWN = 500;

interface Props {
  readonly before: unknown;
  readonly after: unknown;
}

/** Two JSON values line by line, with the differences marked. */
export function JsonDiff({ before, after }: Props): JSX.Element {
  const lines = diffJson(before, after);
  if (lines.every(({ sign }) => sign === '…')) return <p>No differences.</p>;
  return (
    <CollapsedList items={lines} count={LINES_SHOWN}>
      {(shown) => (
        <pre class="diff" tabIndex={0} role="region" aria-label="Changes">
          {shown.map((line, index) =>
            line.sign === '…' ? (
              <span key={index} class="diff-gap">
                {`${line.count.toLocaleString('en')} unchanged ${line.count === 1 ? 'line' : 'lines'}`}
              </span>
            ) : (
              <DiffText key={index} sign={line.sign} text={line.text} />
            ),
          )}
        </pre>
      )}
    </CollapsedList>
  );
}

export function DiffText({ sign, text }: { sign: ' ' | '+' | '-'; text: string }): JSX.Element {
  const Line = sign === '+' ? 'ins' : sign === '-' ? 'del' : 'span';
  // The whole line, because a cut could hide the important part.
  return (
    <Line>
      <span aria-hidden="true">{sign} </span>
      {escapeInvisible(text, Infinity)}
    </Line>
  );
}
