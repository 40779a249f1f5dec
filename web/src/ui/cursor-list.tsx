import type { ComponentChildren, JSX } from 'preact';
import { useState } from 'preact/hooks';
import { useAction } from './action.js';
import { Refusal } from './refusal.js';

/** One page of a list and the cursor of the next page. */
export interface CursorPage<T> {
  readonly items: readonly T[];
  readonly next: string | undefined;
}

interface Props<T> {
  readonly first: CursorPage<T>;
  readonly read: (cursor: string) => Promise<CursorPage<T>>;
  readonly moreLabel: string;
  readonly children: (items: readonly T[]) => ComponentChildren;
}

/** A list with a button that loads the next page. */
export function CursorList<T>({ first, read, moreLabel, children }: Props<T>): JSX.Element {
  const [page, setPage] = useState(first);
  const { next } = page;
  const more = useAction(async () => {
    if (next === undefined) return;
    const after = await read(next);
    setPage({ items: [...page.items, ...after.items], next: after.next });
  });
  return (
    <>
      {children(page.items)}
      {more.failure && <Refusal failure={more.failure} retry={more.run} />}
      {next !== undefined && !more.failure && (
        <p class="paused">
          <button type="button" onClick={more.run} disabled={more.isPending}>
            {moreLabel}
          </button>
        </p>
      )}
    </>
  );
}
