import { useCallback, useEffect, useRef, useState } from 'preact/hooks';
import { type Failure, failureFrom } from '../api/failure.js';
import { isWithin, type Listed, type Narrowing } from './listed.js';
import { readPage } from './pages.js';

export interface List {
  readonly items: readonly Listed[];
  /** How many entries were looked at for them. */
  readonly looked: number;
  readonly isWaiting: boolean;
  /** What is there is what was asked for before. */
  readonly isBefore: boolean;
  readonly isWhole: boolean;
  /** Much was looked at and little found, or somebody has stopped it: somebody has to say that it is worth going on. */
  readonly hasPaused: boolean;
  readonly failure: Failure | undefined;
  more(): void;
  stop(): void;
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
  readonly failure?: Failure | undefined;
}

/** Pages that are read in a row, at the most, to fill a screen with what a list was narrowed to here: 20 000 entries. */
const PAGES_IN_A_ROW = 200;
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
  const latest = useRef(state);
  latest.current = state;
  const running = useRef<AbortController | null>(null);
  const wanted = useRef(Math.min(atLeast, MOST_AGAIN));

  const go = useCallback(
    (from: State) => {
      running.current?.abort();
      const controller = new AbortController();
      const { signal } = controller;
      running.current = controller;
      setWaiting(true);
      const enough = Math.max(WANTED, wanted.current);
      wanted.current = 0;
      readUntil(enough, from, { registry, narrowing, signal, show: setState })
        .catch((thrown: unknown) => {
          if (signal.aborted) return;
          const failure = failureFrom(thrown);
          setState((before) => ({ ...(before.key === from.key ? before : from), failure }));
        })
        .finally(() => {
          if (running.current !== controller) return;
          running.current = null;
          setWaiting(false);
        });
    },
    // The key is the registry and the narrowing.
    [key],
  );

  useEffect(() => {
    go(empty(key));
    return () => running.current?.abort();
  }, [key, go]);

  const more = useCallback(() => {
    const now = latest.current;
    if (now.key === key && !running.current && !now.isWhole && !now.hasPaused && !now.failure) go(now);
  }, [key, go]);
  const again = useCallback(() => {
    const now = latest.current.key === key ? latest.current : empty(key);
    go({ ...now, hasPaused: false, failure: undefined });
  }, [key, go]);
  const stop = useCallback(() => {
    running.current?.abort();
    running.current = null;
    setWaiting(false);
    setState((now) => ({ ...now, hasPaused: true }));
  }, []);
  const acts = { more, stop, again };
  if (state.key === key) return { ...state, ...acts, failure: state.failure, isWaiting, isBefore: false };
  // What was found before stays until the new answer is there: the eye has something to hold on to.
  return { ...empty(key), ...acts, items: state.items, failure: undefined, isWaiting: true, isBefore: true };
}

interface Reading {
  readonly registry: string;
  readonly narrowing: Narrowing;
  readonly signal: AbortSignal;
  readonly show: (state: State) => void;
}

async function readUntil(
  enough: number,
  from: State,
  { registry, narrowing, signal, show }: Reading,
): Promise<void> {
  let now: State = { ...from, hasPaused: false, failure: undefined };
  const isEnough = () => now.isWhole || now.items.length - from.items.length >= enough;
  for (let pages = 0; pages < PAGES_IN_A_ROW && !isEnough(); pages += 1) {
    const page = await readPage(registry, narrowing, now.next, signal);
    if (signal.aborted) return;
    now = {
      ...now,
      items: [...now.items, ...page.items.filter((listed) => isWithin(listed, narrowing))],
      looked: now.looked + page.items.length,
      next: page.next,
      isWhole: page.next === undefined,
    };
    show(now);
  }
  if (!isEnough()) show({ ...now, hasPaused: true });
}

function empty(key: string): State {
  return { key, items: [], looked: 0, next: undefined, isWhole: false, hasPaused: false };
}
