import { useCallback, useEffect, useRef, useState } from 'preact/hooks';
import { type Failure, failureFrom } from '../api/failure.js';
import { isWithin, type Listed, type Narrowing } from './listed.js';
import { readPage } from './pages.js';

export interface List {
  readonly items: readonly Listed[];
  /** How many entries were looked at for them. */
  readonly looked: number;
  readonly isWaiting: boolean;
  readonly isWhole: boolean;
  /** Much was looked at and little found: somebody has to say that it is worth going on. */
  readonly hasPaused: boolean;
  readonly failure: Failure | undefined;
  more(): void;
  /** Goes on after a pause or a failure. */
  again(): void;
}

interface State {
  readonly key: string;
  readonly items: readonly Listed[];
  readonly looked: number;
  readonly next: string | undefined;
  readonly isWhole: boolean;
  readonly hasPaused: boolean;
  readonly failure?: Failure;
}

/** Pages that are read in a row to find what a list was narrowed to here. */
const PAGES_IN_A_ROW = 10;
const WANTED = 24;
/** Items that are read again for who comes back to them. */
const MOST_AGAIN = 3_000;

/**
 * A list of the consumer API, read page by page as somebody scrolls.
 *
 * @param atLeast so many items are read at once, of the first list that is asked for.
 */
export function useList(registry: string, narrowing: Narrowing, atLeast: number): List {
  const key = JSON.stringify([registry, narrowing]);
  const [state, setState] = useState<State>(() => empty(key));
  const [isWaiting, setWaiting] = useState(true);
  const latest = useRef({ state, narrowing });
  latest.current = { state, narrowing };
  const running = useRef<AbortController | null>(null);
  const wanted = useRef(Math.min(atLeast, MOST_AGAIN));

  const read = useCallback(
    async (from: State, signal: AbortSignal) => {
      let now = from;
      let found = 0;
      const enough = Math.max(WANTED, wanted.current);
      const pages = Math.max(PAGES_IN_A_ROW, wanted.current / 50);
      wanted.current = 0;
      for (let count = 0; count < pages && !now.isWhole && found < enough; count += 1) {
        const page = await readPage(registry, latest.current.narrowing, now.next, signal);
        if (signal.aborted) return;
        const within = page.items.filter((listed) => isWithin(listed, latest.current.narrowing));
        found += within.length;
        now = {
          key: from.key,
          items: [...now.items, ...within],
          looked: now.looked + page.items.length,
          next: page.next,
          isWhole: page.next === undefined,
          hasPaused: false,
        };
        setState(now);
      }
      if (found < enough && !now.isWhole) setState({ ...now, hasPaused: true });
    },
    [registry],
  );

  const go = useCallback(
    (from: State) => {
      running.current?.abort();
      const controller = new AbortController();
      running.current = controller;
      setWaiting(true);
      read(from, controller.signal)
        .catch((thrown: unknown) => {
          if (!controller.signal.aborted)
            setState((before) => ({
              ...(before.key === from.key ? before : from),
              failure: failureFrom(thrown),
            }));
        })
        .finally(() => {
          if (running.current !== controller) return;
          running.current = null;
          setWaiting(false);
        });
    },
    [read],
  );

  useEffect(() => {
    go(empty(key));
    return () => running.current?.abort();
  }, [key, go]);

  const more = useCallback(() => {
    const { state: now } = latest.current;
    if (!running.current && !now.isWhole && !now.hasPaused && !now.failure) go(now);
  }, [go]);
  const again = useCallback(() => {
    const { state: now } = latest.current;
    go({ ...now, hasPaused: false, failure: undefined });
  }, [go]);
  // What was found before stays until the new answer is there: the eye has something to hold on to.
  return { ...state, failure: state.key === key ? state.failure : undefined, isWaiting, more, again };
}

function empty(key: string): State {
  return { key, items: [], looked: 0, next: undefined, isWhole: false, hasPaused: false };
}
