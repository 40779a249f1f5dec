import type { JSX } from 'preact';
import type { Failure } from '../api/failure.js';
import { Plain } from '../ui/plain.js';
import { Refusal } from '../ui/refusal.js';
import type { Problems } from './problems.js';

interface Props {
  readonly isEmpty: boolean;
  /** What follows is about what is typed now. */
  readonly isChecked: boolean;
  readonly failure: Failure | undefined;
  readonly problems: Problems;
}

/** What the API says of the document as it is typed. */
export function Verdict({ isEmpty, isChecked, failure, problems }: Props): JSX.Element {
  const { marks, others } = problems;
  if (isEmpty)
    return <p class="muted">It is checked while you type; nothing is published before you say so.</p>;
  if (marks.length > 0)
    return (
      <ul class="problems" role="status" aria-label="Problems">
        {marks.map(({ line, message }, place) => (
          <li key={place}>
            <span class="muted">line {line}</span> <Plain text={message} class="break" />
          </li>
        ))}
        {others.map((detail) => (
          <li key={detail}>
            <Plain text={detail} class="break" />
          </li>
        ))}
      </ul>
    );
  if (!isChecked) return <p class="muted">Checking…</p>;
  if (failure) return <Refusal failure={failure} />;
  return (
    <p class="good-text" role="status">
      It could be published.
    </p>
  );
}
