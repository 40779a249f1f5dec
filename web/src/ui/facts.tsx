import type { ComponentChildren, JSX } from 'preact';

/** Names and values, below each other. */
export function Facts({ children }: { children: ComponentChildren }): JSX.Element {
  return <dl class="facts">{children}</dl>;
}

/** One of them; left out where there is no value. */
export function Fact({ name, children }: { name: string; children?: ComponentChildren }): JSX.Element {
  if (children === undefined || children === null || children === false || children === '') return <></>;
  return (
    <>
      <dt>{name}</dt>
      <dd>{children}</dd>
    </>
  );
}
