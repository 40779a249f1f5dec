import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import { accessRequestText, questionOf, subjectOf } from '../access/access-request.js';
import type { Failure } from '../api/client.js';
import type { Me } from '../api/types.js';
import { heldClaims } from '../claims/claims.js';
import { hashOf } from '../navigation/route.js';
import { LogInButtons } from '../session/log-in-buttons.js';
import { useSession } from '../session/session.js';
import { Code, UntrustedText } from './untrusted-text.js';

interface Props {
  readonly failure: Failure;
  readonly retry?: () => void;
  readonly isRetrying?: boolean;
}

const MAX_LINK = 2_000;
const EXPLAIN_ENDPOINT = 'POST /v1/access/explain';
/** These may mean that a logged-in user lacks access. */
const HIDING = [403, 404];

/**
 * Shows the API's error message, or the login buttons if login is needed. The code and the request ID are under
 * "Details".
 */
export function Refusal({ failure, retry, isRetrying = false }: Props): JSX.Element {
  const { settings, token, isOver } = useSession();
  // The API refers clients to its explain endpoint; here a link to the Access page replaces that line.
  const details = failure.details.filter((line) => !line.includes(EXPLAIN_ENDPOINT));
  const canAsk = HIDING.includes(failure.status) && (token !== null || settings.mode === 'anonymous');
  const question = canAsk ? questionOf(location.hash) : null;
  const offersLogIn = failure.status === 401 && settings.mode === 'oauth' && token === null;
  // A failed login explains itself.
  const needsLogIn = offersLogIn && failure.code !== 'login_failed';
  const isHidden = question !== null && failure.status === 404;
  const sentence = needsLogIn
    ? isOver
      ? 'Log in again to see this'
      : 'Log in to see this'
    : isHidden
      ? 'This does not exist, or you cannot see it'
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
      {offersLogIn && <LogInButtons />}
      <p class="buttons below">
        {question && (
          <a class="button" href={hashOf(['access'], question)}>
            Why can't I see this?
          </a>
        )}
        {retry && !offersLogIn && (
          <button type="button" onClick={retry} disabled={isRetrying}>
            Try again
          </button>
        )}
      </p>
      {question && <AskForAccess question={question} failure={failure} />}
      <details class="refusal-source">
        <summary>Details</summary>
        <p>
          {sentence !== failure.sentence && (
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

interface AskProps {
  /** A question for the Access page. */
  readonly question: Readonly<Record<string, string>>;
  readonly missing?: readonly string[];
  readonly failure?: Failure;
}

/** A message that the user can copy and send to an administrator. */
export function AskForAccess({ question, missing, failure }: AskProps): JSX.Element {
  const { me } = useSession();
  const [at] = useState(() => new Date());
  const explanation = explanationFor(me, question);
  const text = accessRequestText({
    address: location.href,
    subject: subjectOf(question),
    person: personOf(me),
    missing,
    requestId: failure?.requestId,
    code: failure?.code,
    at,
    explanation,
  });
  return (
    <details class="ask">
      <summary>Ask for access</summary>
      <p class="muted">
        Copy this message and send it to an administrator of the registry.{' '}
        {explanation !== undefined && 'Its last line contains your claims.'}
      </p>
      <Code text={text} label="Message" isWhole />
    </details>
  );
}

/** Address of the Access page with this question about the person's claims, if it is not too long for a message. */
function explanationFor(me: Me | null, question: AskProps['question']): string | undefined {
  if (!me) return undefined;
  const { href } = new URL(
    hashOf(['access'], { ...question, as: JSON.stringify(heldClaims(me)) }),
    location.href,
  );
  return href.length <= MAX_LINK ? href : undefined;
}

/** `Ada (1fb57c10)` */
function personOf(me: Me | null): string {
  if (!me) return '';
  return me.name === undefined ? me.subject : `${me.name} (${me.subject})`;
}
