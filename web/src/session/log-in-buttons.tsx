import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import { type Failure, failureFrom } from '../api/client.js';
import { logIn } from './log-in.js';
import { useSession } from './session.js';

/** One button for each provider in `web.logins`. */
export function LogInButtons({ small = false }: { small?: boolean }): JSX.Element {
  const { settings } = useSession();
  const [failure, setFailure] = useState<Failure>();
  if (settings.logins.length === 0)
    return small ? (
      <></>
    ) : (
      <p class="muted">
        No login is configured. An administrator can add one under <code>web.logins</code> in the
        configuration.
      </p>
    );
  return (
    <>
      <p class="buttons">
        {settings.logins.map((login) => (
          <button
            key={login.provider}
            type="button"
            class={small ? 'small primary' : 'primary'}
            onClick={() => {
              setFailure(undefined);
              logIn(login).catch((thrown: unknown) => setFailure(failureFrom(thrown)));
            }}
          >
            {settings.logins.length === 1 ? 'Log in' : `Log in with ${login.provider}`}
          </button>
        ))}
      </p>
      {failure && (
        <p class="refusal-sentence" role="alert">
          {failure.sentence}. {failure.details.join(' ')}
        </p>
      )}
    </>
  );
}
