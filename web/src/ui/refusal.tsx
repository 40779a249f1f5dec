import type { JSX } from 'preact';
import type { Failure } from '../api/failure.js';
import { useSession } from '../session/session.js';
import { LogInButtons } from '../shell/log-in-buttons.js';
import { Plain } from './plain.js';

interface Props {
  readonly failure: Failure;
  readonly again?: () => void;
  /** It is being asked again. */
  readonly isAsking?: boolean;
}

const WHERE_TO_ASK = 'POST /v1/access/explain';

/** What the API has said, and how to find it again in its log. */
export function Refusal({ failure, again, isAsking = false }: Props): JSX.Element {
  const { settings, token } = useSession();
  // To a program the API says where to ask; to a person, the page does.
  const details = failure.details.filter((line) => !line.startsWith(WHERE_TO_ASK));
  const canAsk = details.length < failure.details.length && (token !== null || settings.mode === 'anonymous');
  const asksForLogIn = failure.status === 401 && settings.mode === 'oauth' && token === null;
  return (
    <section class="refusal" role="alert">
      <p class="refusal-sentence">
        <Plain text={failure.sentence} />
      </p>
      {details.length > 0 && (
        <ul>
          {details.map((line, place) => (
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
      {canAsk && (
        <p class="below">
          <a href="#/access">Access</a> says which step has refused this, and what is missing.
        </p>
      )}
      {asksForLogIn && (
        <>
          <p class="below">You have not logged in.</p>
          <LogInButtons />
        </>
      )}
      {again && !asksForLogIn && (
        <button type="button" onClick={again} disabled={isAsking}>
          Try again
        </button>
      )}
    </section>
  );
}
