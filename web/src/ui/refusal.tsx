import type { JSX } from 'preact';
import type { Failure } from '../api/failure.js';
import { useSession } from '../session/session.js';
import { LogInButtons } from '../shell/log-in-buttons.js';
import { Plain } from './plain.js';

/** What the API has said, and how to find it again in its log. */
export function Refusal({ failure, again }: { failure: Failure; again?: () => void }): JSX.Element {
  const { settings, token } = useSession();
  const asksForLogIn = failure.status === 401 && settings.mode === 'oauth' && token === null;
  return (
    <section class="refusal" role="alert">
      <p class="refusal-sentence">
        <Plain text={failure.sentence} />
      </p>
      {failure.details.length > 0 && (
        <ul>
          {failure.details.map((line, place) => (
            <li key={place}>
              <Plain text={line} class="break" />
            </li>
          ))}
        </ul>
      )}
      <p class="refusal-source">
        <code>{failure.code}</code>
        {failure.requestId !== undefined && (
          <>
            {' · request '}
            <code class="break">{failure.requestId}</code>
          </>
        )}
      </p>
      {asksForLogIn && <LogInButtons />}
      {again && !asksForLogIn && (
        <button type="button" onClick={again}>
          Try again
        </button>
      )}
    </section>
  );
}
