/** The rows of all tables in a Markdown text, by column name; strips backticks around a whole cell. */
export function tablesIn(markdown: string): Record<string, string>[][] {
  const blocks = markdown
    .split(/\n(?!\|)/)
    .map((block) => block.split('\n').filter((line) => line.startsWith('|')));
  return blocks
    .filter((lines) => lines.length > 2)
    .map(([head = '', , ...rows]) =>
      rows.map((row) => {
        const names = cellsOf(head);
        return Object.fromEntries(cellsOf(row).map((cell, column) => [names[column] ?? '', cell]));
      }),
    );
}

function cellsOf(line: string): string[] {
  return line
    .split('|')
    .slice(1, -1)
    .map((cell) => cell.trim().replace(/^`([^`]*)`$/, '$1'));
}
