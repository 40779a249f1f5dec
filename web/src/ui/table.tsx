import type { ComponentChildren, JSX } from 'preact';

/** The head of a column; what is hidden is for screen readers alone. */
export interface Column {
  readonly title: string;
  readonly isNumber?: boolean;
  readonly isHidden?: boolean;
}

interface Props {
  readonly columns: readonly (string | Column)[];
  readonly class?: string;
  /** Numbers that are compared: they stay beside each other on a phone too. */
  readonly isFigures?: boolean;
  /** Rows. */
  readonly children: ComponentChildren;
}

/** A table; on a phone each row is a block, in which the columns stand below each other with their titles. */
export function Table({ columns, class: name = '', isFigures = false, children }: Props): JSX.Element {
  const heads = columns.map(columnOf);
  // For the style sheet, which shows them there.
  const titles = heads.map(({ title, isHidden }, place) => [
    `--column-${place + 1}`,
    isHidden ? 'none' : JSON.stringify(title),
  ]);
  return (
    <div class="table-frame">
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
