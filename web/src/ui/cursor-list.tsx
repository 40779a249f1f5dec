import type { ComponentChildren, JSX } from 'preact';
import { useState } from 'preact/hooks';
import { useAct } from './act.js';
import { Refusal } from './refusal.js';

/** Some items, and where the list goes on. */
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

/** A list that goes on when somebody asks for more of it. */
export function CursorList<T>({ first, read, moreLabel, children }: Props<T>): JSX.Element {
  const [page, setPage] = useState(first);
  const { next } = page;
  const more = useAct(async () => {
    if (next === undefined) return;
    const after = await read(next);
    setPage({ items: [...page.items, ...after.items], next: after.next });
  });
  return (
    <>
      {children(page.items)}
      {more.failure && <Refusal failure={more.failure} again={more.run} />}
      {next !== undefined && !more.failure && (
        <p class="paused">
          <button type="button" onClick={more.run} disabled={more.isUnderWay}>
            {moreLabel}
          </button>
        </p>
      )}
    </>
  );
}
