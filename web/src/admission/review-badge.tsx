import type { JSX } from 'preact';
import { useEffect } from 'preact/hooks';
import { useSession } from '../session/session.js';
import { useQuery } from '../ui/query.js';
import { readItems } from './items.js';

const REFRESH_MS = 60_000;
/** Larger numbers are shown as `20+`. */
const MAX_COUNT = 20;
const CHANGED = 'registry:decided';

/** Makes the header count again after a decision. */
export function countDecidableAgain(): void {
  window.dispatchEvent(new Event(CHANGED));
}

/** The number of items that the person can decide on now, as text; empty if there are none. */
export function useDecidableCount(): string {
  const { settings, me } = useSession();
  const isKnown = me !== null || settings.mode === 'anonymous';
  const key = isKnown ? `decidable ${me?.subject ?? ''}` : null;
  const { value, refetch } = useQuery(key, (signal) =>
    readItems({ decidable: true, limit: MAX_COUNT }, signal),
  );
  useEffect(() => {
    if (key === null) return undefined;
    const timer = setInterval(() => document.visibilityState === 'visible' && refetch(), REFRESH_MS);
    window.addEventListener(CHANGED, refetch);
    return () => {
      clearInterval(timer);
      window.removeEventListener(CHANGED, refetch);
    };
  }, [key, refetch]);
  if (!value || value.items.length === 0) return '';
  return `${value.items.length}${value.next === undefined ? '' : '+'}`;
}

/** Statuses of decided items. */
const DECIDED = ['admitted', 'rejected'] as const;

/** Whether a person without a role sees items: reviewers keep their menu even when nothing waits for them. */
export function useIsReviewer(decidable: string): boolean {
  const { me } = useSession();
  const isAsked = me !== null && me.roles.length === 0 && decidable === '';
  const { value } = useQuery(isAsked ? `decided ${me.subject}` : null, async (signal) => {
    const pages = await Promise.all(DECIDED.map((status) => readItems({ status, limit: 1 }, signal)));
    return pages.some(({ items }) => items.length > 0);
  });
  return decidable !== '' || value === true;
}

/** The number of items waiting for the person's decision, in the menu. */
export function ReviewBadge({ count }: { count: string }): JSX.Element {
  if (count === '') return <></>;
  return (
    <span class="badge count">
      {count}
      <span class="hidden"> to decide</span>
    </span>
  );
}
