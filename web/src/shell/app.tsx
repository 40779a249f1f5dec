import type { JSX } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import { type Failure, failureFrom } from '../api/failure.js';
import { useRoute } from '../navigation/route.js';
import { begin } from '../session/log-in.js';
import { useSession } from '../session/session.js';
import { Refusal } from '../ui/refusal.js';
import { Waiting } from '../ui/waiting.js';
import { Header } from './header.js';
import { Place } from './place.js';
import { Unbroken } from './unbroken.js';

export function App(): JSX.Element {
  const route = useRoute();
  const session = useSession();
  const [failure, setFailure] = useState<Failure>();
  const [hasBegun, setBegun] = useState(false);
  const main = useRef<HTMLElement>(null);
  const start = () => {
    setFailure(undefined);
    begin()
      .catch((thrown: unknown) => setFailure(failureFrom(thrown)))
      .finally(() => {
        window.dispatchEvent(new HashChangeEvent('hashchange'));
        setBegun(true);
      });
  };
  useEffect(start, []);
  const place = route.path.join('/');
  useEffect(() => {
    if (!hasBegun) return;
    // A new place begins at its top, for the eye and for a screen reader.
    main.current?.focus({ preventScroll: true });
    window.scrollTo(0, 0);
  }, [place, hasBegun]);
  return (
    <>
      <a
        class="skip"
        href="#main"
        onClick={(event) => {
          event.preventDefault();
          main.current?.focus();
        }}
      >
        Skip to content
      </a>
      <Header route={route} />
      <main id="main" ref={main} tabIndex={-1}>
        {session.isOver && (
          <p class="notice" role="status">
            Your log-in has ended. Log in again to go on.
          </p>
        )}
        {failure && <Refusal failure={failure} again={start} />}
        {!hasBegun && <Waiting />}
        {hasBegun && (!failure || failure.code === 'login_failed') && (
          <Unbroken place={place}>
            <Place key={session.me ? `of ${session.me.subject}` : 'of nobody'} route={route} />
          </Unbroken>
        )}
      </main>
    </>
  );
}
