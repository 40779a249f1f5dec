import type { ComponentChildren, JSX } from 'preact';
import { useState } from 'preact/hooks';

interface Props<T> {
  readonly of: readonly T[];
  readonly count: number;
  readonly children: (items: readonly T[]) => ComponentChildren;
}

/** The first items of what is known whole, and the rest when somebody asks. */
export function FirstFew<T>({ of, count, children }: Props<T>): JSX.Element {
  const [isWhole, setWhole] = useState(false);
  return (
    <>
      {children(isWhole ? of : of.slice(0, count))}
      {of.length > count && !isWhole && (
        <p class="buttons below">
          <button type="button" class="small" onClick={() => setWhole(true)}>
            Show all {of.length.toLocaleString('en')}
          </button>
        </p>
      )}
    </>
  );
}
