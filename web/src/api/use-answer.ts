import { useCallback, useEffect, useRef, useState } from 'preact/hooks';
import { type Failure, failureFrom } from './failure.js';

/** What was asked of the API, as far as it is known. */
export interface Asked<T> {
  /** Of the last answer; while the same is asked again it stays. */
  readonly value: T | undefined;
  readonly failure: Failure | undefined;
  readonly isWaiting: boolean;
  again(): void;
}

/**
 * Asks, and asks anew whenever the key changes; what was under way then is dropped.
 *
 * @param key what the question depends on; null: nothing is asked.
 */
export function useAnswer<T>(key: string | null, ask: (signal: AbortSignal) => Promise<T>): Asked<T> {
  const [state, setState] = useState<{ key: string | null; value?: T; failure?: Failure }>({ key: null });
  const [waitingFor, setWaitingFor] = useState<string | null>(null);
  const [count, setCount] = useState(0);
  const latest = useRef(ask);
  latest.current = ask;
  useEffect(() => {
    if (key === null) return undefined;
    const controller = new AbortController();
    setWaitingFor(key);
    latest.current(controller.signal).then(
      (value) => !controller.signal.aborted && (setState({ key, value }), setWaitingFor(null)),
      (thrown: unknown) => {
        if (controller.signal.aborted) return;
        setState({ key, failure: failureFrom(thrown) });
        setWaitingFor(null);
      },
    );
    return () => controller.abort();
  }, [key, count]);
  const again = useCallback(() => setCount((before) => before + 1), []);
  const isCurrent = state.key === key;
  return {
    value: isCurrent ? state.value : undefined,
    failure: isCurrent ? state.failure : undefined,
    isWaiting: key !== null && (waitingFor !== null || !isCurrent),
    again,
  };
}
