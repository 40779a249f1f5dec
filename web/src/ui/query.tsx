import type { ComponentChildren, JSX } from 'preact';
import { useCallback, useEffect, useRef, useState } from 'preact/hooks';
import { type Failure, failureFrom } from '../api/client.js';
import { Refusal } from './refusal.js';
import { UntrustedText } from './untrusted-text.js';

/** State of a request to the API. */
export interface Query<T> {
  /** Last response for the current key; kept during a refetch. */
  readonly value: T | undefined;
  readonly failure: Failure | undefined;
  readonly isLoading: boolean;
  refetch(): void;
}

/**
 * Runs a request, and runs it again when the key changes. The previous request is aborted.
 *
 * @param key everything the request depends on; null sends no request.
 */
export function useQuery<T>(key: string | null, request: (signal: AbortSignal) => Promise<T>): Query<T> {
  const [state, setState] = useState<{ key: string | null; value?: T; failure?: Failure }>({ key: null });
  const [pendingKey, setPendingKey] = useState<string | null>(null);
  const [count, setCount] = useState(0);
  const latest = useRef(request);
  latest.current = request;
  useEffect(() => {
    if (key === null) return undefined;
    const controller = new AbortController();
    setPendingKey(key);
    latest.current(controller.signal).then(
      (value) => !controller.signal.aborted && (setState({ key, value }), setPendingKey(null)),
      (thrown: unknown) => {
        if (controller.signal.aborted) return;
        setState({ key, failure: failureFrom(thrown) });
        setPendingKey(null);
      },
    );
    return () => controller.abort();
  }, [key, count]);
  const refetch = useCallback(() => setCount((before) => before + 1), []);
  const isCurrent = state.key === key;
  return {
    value: isCurrent ? state.value : undefined,
    failure: isCurrent ? state.failure : undefined,
    isLoading: key !== null && (pendingKey !== null || !isCurrent),
    refetch,
  };
}

interface QueryResultProps<T> {
  readonly query: Query<T>;
  readonly children: (value: T) => ComponentChildren;
}

/** Renders the response, the failure or a loading message. */
export function QueryResult<T>({ query, children }: QueryResultProps<T>): JSX.Element {
  if (query.failure)
    return <Refusal failure={query.failure} retry={query.refetch} isRetrying={query.isLoading} />;
  if (query.value === undefined) return <Loading />;
  return <>{children(query.value)}</>;
}

/** Appears after a short delay (CSS), so fast responses do not flicker. */
export function Loading(): JSX.Element {
  return (
    <p class="waiting" role="status">
      Loading…
    </p>
  );
}

/** Shown instead of an empty list: what is missing and what to do. */
export function EmptyState({
  title,
  isPage = false,
  children,
}: {
  title: string;
  /** Whether the page shows nothing else. */
  isPage?: boolean;
  children?: ComponentChildren;
}): JSX.Element {
  return (
    <div class="empty">
      {isPage ? <h1 class="empty-title">{title}</h1> : <p class="empty-title">{title}</p>}
      {children !== undefined && <div class="empty-text">{children}</div>}
    </div>
  );
}

/** The title of a page that has nothing else to show yet, for screen readers. */
export function HiddenTitle({ text }: { text: string }): JSX.Element {
  return (
    <h1 class="hidden">
      <UntrustedText text={text} />
    </h1>
  );
}
