import type { JSX } from 'preact';
import type { Failure } from '../api/failure.js';
import { useState } from 'preact/hooks';
import { failureFrom } from '../api/failure.js';
import { logIn } from '../session/log-in.js';
import { useSession } from '../session/session.js';

/** One for each provider at which the configuration knows this page. */
export function LogInButtons({ small = false }: { small?: boolean }): JSX.Element {
  const { settings } = useSession();
  const [failure, setFailure] = useState<Failure>();
  if (settings.logins.length === 0)
    return small ? (
      <></>
    ) : (
      <p class="muted">
        No log-in is set up for this page: an administrator names one in <code>web.logins</code> of the
        configuration.
      </p>
    );
  const isOne = settings.logins.length === 1;
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
            {isOne ? 'Log in' : `Log in with ${login.provider}`}
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
