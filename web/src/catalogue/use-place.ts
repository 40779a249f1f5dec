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

export function usePlace(): Place {
  const before = useRef<Kept | null>(keptIn(history.state));
  const count = useRef(0);
  const wanted = useRef(before.current);
  useEffect(() => {
    const { hash } = location;
    let timer = 0;
    const remember = () => {
      clearTimeout(timer);
      timer = window.setTimeout(() => {
        if (location.hash !== hash || count.current === 0) return;
        history.replaceState({ scrollY: window.scrollY, count: count.current } satisfies Kept, '');
      }, PAUSE_MS);
    };
    window.addEventListener('scroll', remember, { passive: true });
    return () => {
      clearTimeout(timer);
      window.removeEventListener('scroll', remember);
    };
  }, []);
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
