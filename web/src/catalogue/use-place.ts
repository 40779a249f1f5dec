import { useEffect, useRef } from 'preact/hooks';

/** Where somebody was in a list, kept with the entry of the browser's history: the back button leads there again. */
interface Place {
  /** Items that were there then; 0: nobody was here. */
  readonly count: number;
  /** @param count items that are there now. */
  keep(count: number): void;
}

interface Kept {
  readonly scrollY: number;
  readonly count: number;
}

const PAUSE_MS = 100;
/** Who does this no longer wants to be led anywhere. */
const OWN_WAYS = ['wheel', 'touchmove', 'keydown', 'pointerdown'] as const;

/** @param key of the list: with another one, nobody was there before. */
export function usePlace(key: string): Place {
  const before = useRef<Kept | null>(keptIn(history.state));
  const wanted = useRef(before.current);
  const firstKey = useRef(key);
  const count = useRef(0);
  useEffect(() => {
    if (key !== firstKey.current) wanted.current = null;
    const { hash } = location;
    let timer = 0;
    const remember = () => {
      clearTimeout(timer);
      timer = window.setTimeout(() => {
        if (location.hash !== hash || count.current === 0) return;
        history.replaceState({ scrollY: window.scrollY, count: count.current } satisfies Kept, '');
      }, PAUSE_MS);
    };
    const forget = () => {
      wanted.current = null;
    };
    window.addEventListener('scroll', remember, { passive: true });
    for (const way of OWN_WAYS) window.addEventListener(way, forget, { passive: true });
    return () => {
      clearTimeout(timer);
      window.removeEventListener('scroll', remember);
      for (const way of OWN_WAYS) window.removeEventListener(way, forget);
    };
  }, [key]);
  return {
    count: before.current?.count ?? 0,
    keep(now) {
      count.current = now;
      const to = wanted.current;
      if (to === null || now < to.count) return;
      wanted.current = null;
      requestAnimationFrame(() => requestAnimationFrame(() => window.scrollTo(0, to.scrollY)));
    },
  };
}

function keptIn(state: unknown): Kept | null {
  if (typeof state !== 'object' || state === null) return null;
  const { scrollY, count } = state as Partial<Kept>;
  return typeof scrollY === 'number' && typeof count === 'number' ? { scrollY, count } : null;
}
