import type { ComponentChildren, JSX } from 'preact';
import { useState } from 'preact/hooks';

interface Column {
  readonly title: string;
  readonly isNumber?: boolean;
  /** The title is for screen readers only. */
  readonly isHidden?: boolean;
}

interface TableProps {
  readonly columns: readonly (string | Column)[];
  readonly class?: string;
  /** Keeps columns side by side on phones, so that numbers can be compared. */
  readonly isFigures?: boolean;
  readonly children: ComponentChildren;
}

/** A table; on phones each row becomes a block of labeled values. */
export function Table({ columns, class: name = '', isFigures = false, children }: TableProps): JSX.Element {
  const heads = columns.map(columnOf);
  // tables.css shows the titles on phones.
  const titles = heads.map(({ title, isHidden }, index) => [
    `--column-${index + 1}`,
    isHidden ? 'none' : JSON.stringify(title),
  ]);
  return (
    // Focusable, so that the keyboard can scroll a table without links.
    <div class="table-frame" role="group" aria-label="Table" tabIndex={0}>
      <table class={isFigures ? `${name} figures` : `${name} rows`} style={Object.fromEntries(titles)}>
        <thead>
          <tr>
            {heads.map(({ title, isNumber, isHidden }) => (
              <th scope="col" key={title} class={isNumber ? 'number' : undefined}>
                {isHidden ? <span class="hidden">{title}</span> : title}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>{children}</tbody>
      </table>
    </div>
  );
}

function columnOf(column: string | Column): Column {
  return typeof column === 'string' ? { title: column } : column;
}

export function DetailList({ children }: { children: ComponentChildren }): JSX.Element {
  return <dl class="facts">{children}</dl>;
}

/** A name and its value; renders nothing without a value. */
export function Detail({ name, children }: { name: string; children?: ComponentChildren }): JSX.Element {
  if (children === undefined || children === null || children === false || children === '') return <></>;
  return (
    <>
      <dt>{name}</dt>
      <dd>{children}</dd>
    </>
  );
}

interface CollapsedListProps<T> {
  readonly items: readonly T[];
  readonly count: number;
  readonly children: (items: readonly T[]) => ComponentChildren;
}

/** The first items, with a button that shows all of them. */
export function CollapsedList<T>({ items, count, children }: CollapsedListProps<T>): JSX.Element {
  const [showsAll, setShowsAll] = useState(false);
  return (
    <>
      {children(showsAll ? items : items.slice(0, count))}
      {items.length > count && !showsAll && (
        <p class="buttons below">
          <button type="button" class="small" onClick={() => setShowsAll(true)}>
            Show all {items.length.toLocaleString('en')}
          </button>
        </p>
      )}
    </>
  );
}
