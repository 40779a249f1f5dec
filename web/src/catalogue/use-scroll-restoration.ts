import { useEffect, useRef } from 'preact/hooks';

interface ScrollRestoration {
  /** Items loaded at the last visit; 0 on the first. */
  readonly count: number;
  /** Reports how many items are loaded; scrolls once there are enough. */
  update(count: number): void;
}

interface SavedPosition {
  readonly scrollY: number;
  readonly count: number;
}

const SAVE_DELAY_MS = 100;
/** These user actions cancel a pending restoration. */
const CANCEL_EVENTS = ['wheel', 'touchmove', 'keydown', 'pointerdown'] as const;

/**
 * Saves the scroll position of a list in the history entry, and restores it when the user navigates back.
 *
 * @param key identifies the list; a change cancels the restoration.
 */
export function useScrollRestoration(key: string): ScrollRestoration {
  const saved = useRef<SavedPosition | null>(savedPosition(history.state));
  const target = useRef(saved.current);
  const firstKey = useRef(key);
  const count = useRef(0);
  useEffect(() => {
    if (key !== firstKey.current) target.current = null;
    const { hash } = location;
    let timer = 0;
    const save = () => {
      clearTimeout(timer);
      timer = window.setTimeout(() => {
        if (location.hash !== hash || count.current === 0) return;
        history.replaceState({ scrollY: window.scrollY, count: count.current } satisfies SavedPosition, '');
      }, SAVE_DELAY_MS);
    };
    const cancel = () => {
      target.current = null;
    };
    window.addEventListener('scroll', save, { passive: true });
    for (const event of CANCEL_EVENTS) window.addEventListener(event, cancel, { passive: true });
    return () => {
      clearTimeout(timer);
      window.removeEventListener('scroll', save);
      for (const event of CANCEL_EVENTS) window.removeEventListener(event, cancel);
    };
  }, [key]);
  return {
    count: saved.current?.count ?? 0,
    update(now) {
      count.current = now;
      const to = target.current;
      if (to === null || now < to.count) return;
      target.current = null;
      requestAnimationFrame(() => requestAnimationFrame(() => window.scrollTo(0, to.scrollY)));
    },
  };
}

function savedPosition(state: unknown): SavedPosition | null {
  if (typeof state !== 'object' || state === null) return null;
  const { scrollY, count } = state as Partial<SavedPosition>;
  return typeof scrollY === 'number' && typeof count === 'number' ? { scrollY, count } : null;
}
