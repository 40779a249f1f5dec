import { Component, type ComponentChildren, type JSX } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import { type Failure, failureFrom } from '../api/client.js';
import { useRoute } from '../navigation/route.js';
import { startSession } from '../session/log-in.js';
import { isOffered, useSession } from '../session/session.js';
import { EmptyState, Loading } from '../ui/query.js';
import { Refusal } from '../ui/refusal.js';
import { Header } from './header.js';
import { CurrentPage } from './router.js';

export function App(): JSX.Element {
  const route = useRoute();
  const session = useSession();
  const [failure, setFailure] = useState<Failure>();
  const [isReady, setReady] = useState(false);
  const main = useRef<HTMLElement>(null);
  const start = () => {
    setFailure(undefined);
    startSession()
      .catch((thrown: unknown) => setFailure(failureFrom(thrown)))
      .finally(() => {
        window.dispatchEvent(new HashChangeEvent('hashchange'));
        setReady(true);
      });
  };
  useEffect(start, []);
  const path = route.path.join('/');
  useEffect(() => {
    if (!isReady) return;
    // A new page starts at the top, for sighted users and screen readers alike.
    main.current?.focus({ preventScroll: true });
    window.scrollTo(0, 0);
  }, [path, isReady]);
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
            Your session has expired. Log in again to continue.
          </p>
        )}
        {failure && <Refusal failure={failure} retry={start} />}
        {isReady && <Trouble key={session.me?.subject} />}
        {!isReady && <Loading />}
        {isReady && (!failure || failure.code === 'login_failed') && (
          <ErrorBoundary path={path}>
            <CurrentPage key={session.me ? `user ${session.me.subject}` : 'anonymous'} route={route} />
          </ErrorBoundary>
        )}
      </main>
    </>
  );
}

/** Loaded for people who manage sources or webhooks. */
function Trouble(): JSX.Element {
  const session = useSession();
  const [banner, setBanner] = useState<{ readonly Show: () => JSX.Element }>();
  const isWanted = isOffered(session, 'manageSources');
  useEffect(() => {
    if (isWanted)
      import('./trouble.js').then(
        ({ TroubleBanner }) => setBanner({ Show: TroubleBanner }),
        () => undefined,
      );
  }, [isWanted]);
  return banner && isWanted ? <banner.Show /> : <></>;
}

interface ErrorBoundaryProps {
  /** A new path resets the error. */
  readonly path: string;
  readonly children: ComponentChildren;
}

/** Shows a message instead of a blank page when rendering fails. */
class ErrorBoundary extends Component<ErrorBoundaryProps, { isBroken: boolean }> {
  override state = { isBroken: false };

  static override getDerivedStateFromError(): { isBroken: boolean } {
    return { isBroken: true };
  }

  override componentDidUpdate(before: ErrorBoundaryProps): void {
    if (this.state.isBroken && before.path !== this.props.path) this.setState({ isBroken: false });
  }

  override render(): JSX.Element {
    if (!this.state.isBroken) return <>{this.props.children}</>;
    return (
      <EmptyState title="Something went wrong on this page" isPage>
        <p>The server's response could not be displayed. The other pages still work.</p>
        <p>
          <button type="button" onClick={() => this.setState({ isBroken: false })}>
            Try again
          </button>
        </p>
      </EmptyState>
    );
  }
}
