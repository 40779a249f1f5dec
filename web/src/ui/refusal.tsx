import type { JSX } from 'preact';
import type { Failure } from '../api/client.js';
import { hashOf, parseHash } from '../navigation/route.js';
import { LogInButtons } from '../session/log-in-buttons.js';
import { useSession } from '../session/session.js';
import { UntrustedText } from './untrusted-text.js';

/** The Access page, prefilled with the registry and entry of a catalogue page. */
function questionAbout(hash: string): string {
  const [page, registry = '', type = '', entry = ''] = parseHash(hash).path;
  return hashOf(['access'], page === 'catalogue' ? { registry, type, entry } : {});
}

interface Props {
  readonly failure: Failure;
  readonly retry?: () => void;
  readonly isRetrying?: boolean;
}

const EXPLAIN_ENDPOINT = 'POST /v1/access/explain';

/** Shows the API's error message, or the log-in if one is needed. The code and the request ID are under "Details". */
export function Refusal({ failure, retry, isRetrying = false }: Props): JSX.Element {
  const { settings, token, isOver } = useSession();
  // The API refers clients to its explain endpoint; here a link to the Access page replaces that line.
  const details = failure.details.filter((line) => !line.includes(EXPLAIN_ENDPOINT));
  const canExplain =
    details.length < failure.details.length && (token !== null || settings.mode === 'anonymous');
  const offersLogIn = failure.status === 401 && settings.mode === 'oauth' && token === null;
  // A failed log-in explains itself.
  const needsLogIn = offersLogIn && failure.code !== 'login_failed';
  const sentence = needsLogIn
    ? isOver
      ? 'Log in again to see this'
      : 'Log in to see this'
    : failure.sentence;
  return (
    <section class={needsLogIn ? 'refusal needs-log-in' : 'refusal'} role="alert">
      <p class="refusal-sentence">
        <UntrustedText text={sentence} />
      </p>

      {!needsLogIn && details.length > 0 && (
        <ul>
          {details.map((line, index) => (
            <li key={index}>
              <UntrustedText text={line} class="break" />
            </li>
          ))}
        </ul>
      )}
      {canExplain && (
        <p class="below">
          <a href={questionAbout(location.hash)}>Access</a> shows which check refused this request and what is
          missing.
        </p>
      )}
      {offersLogIn && <LogInButtons />}
      {retry && !offersLogIn && (
        <button type="button" onClick={retry} disabled={isRetrying}>
          Try again
        </button>
      )}
      <details class="refusal-source">
        <summary>Details</summary>
        <p>
          {needsLogIn && (
            <>
              <UntrustedText text={failure.sentence} />
              {' · '}
            </>
          )}
          <code>{failure.code}</code>
          {failure.requestId !== undefined && (
            <>
              {' · request '}
              <code class="break">{failure.requestId}</code>
            </>
          )}
        </p>
      </details>
    </section>
  );
}
