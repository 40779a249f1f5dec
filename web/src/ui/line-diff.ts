/** A line of a diff, or the number of unchanged lines that are omitted. */
export type DiffLine =
  | { readonly sign: ' ' | '+' | '-'; readonly text: string }
  | { readonly sign: '…'; readonly count: number };

/** Unchanged lines shown around each change. */
const CONTEXT = 3;
/** Maximum number of cells in the comparison table; beyond it, all old lines are shown before all new ones. */
const MAX_CELLS = 4_000_000;

/** Compares two JSON values line by line. Members are sorted, so their order makes no difference. */
export function diffJson(before: unknown, after: unknown): readonly DiffLine[] {
  return fold(diffLines(linesOf(before), linesOf(after)));
}

function linesOf(value: unknown): string[] {
  return JSON.stringify(sorted(value), null, 2).split('\n');
}

function sorted(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sorted);
  if (typeof value !== 'object' || value === null) return value;
  const members = Object.entries(value).map(([key, member]) => [key, sorted(member)] as const);
  return Object.fromEntries(members.sort(([one], [other]) => (one < other ? -1 : 1)));
}

type TextLine = Exclude<DiffLine, { sign: '…' }>;

function diffLines(before: readonly string[], after: readonly string[]): TextLine[] {
  let start = 0;
  while (start < before.length && start < after.length && before[start] === after[start]) start += 1;
  let [end, newEnd] = [before.length, after.length];
  while (end > start && newEnd > start && before[end - 1] === after[newEnd - 1]) {
    end -= 1;
    newEnd -= 1;
  }
  const same = (lines: readonly string[]) => lines.map((text): TextLine => ({ sign: ' ', text }));
  return [
    ...same(before.slice(0, start)),
    ...changesBetween(before.slice(start, end), after.slice(start, newEnd)),
    ...same(before.slice(end)),
  ];
}

/** Keeps a longest common subsequence of the lines. */
function changesBetween(before: readonly string[], after: readonly string[]): TextLine[] {
  const width = after.length + 1;
  const isComparable = before.length * after.length <= MAX_CELLS;
  // Cell (i, j): length of the longest common subsequence of the lines from i and from j on.
  const common = new Uint32Array(isComparable ? (before.length + 1) * width : 0);
  const at = (i: number, j: number) => common[i * width + j] ?? 0;
  if (isComparable)
    for (let i = before.length - 1; i >= 0; i -= 1)
      for (let j = after.length - 1; j >= 0; j -= 1)
        common[i * width + j] =
          before[i] === after[j] ? at(i + 1, j + 1) + 1 : Math.max(at(i + 1, j), at(i, j + 1));
  const lines: TextLine[] = [];
  let [i, j] = [0, 0];
  while (i < before.length || j < after.length) {
    const [old, now] = [before[i], after[j]];
    if (isComparable && old !== undefined && old === now) {
      lines.push({ sign: ' ', text: old });
      i += 1;
      j += 1;
    } else if (old !== undefined && (now === undefined || at(i + 1, j) >= at(i, j + 1))) {
      lines.push({ sign: '-', text: old });
      i += 1;
    } else {
      lines.push({ sign: '+', text: now ?? '' });
      j += 1;
    }
  }
  return lines;
}

function fold(lines: readonly TextLine[]): readonly DiffLine[] {
  const isNear = new Uint8Array(lines.length);
  lines.forEach(({ sign }, index) => {
    if (sign !== ' ') isNear.fill(1, Math.max(index - CONTEXT, 0), index + CONTEXT + 1);
  });
  const folded: DiffLine[] = [];
  lines.forEach((line, index) => {
    const last = folded.at(-1);
    if (isNear[index] === 1) folded.push(line);
    else if (last?.sign === '…') folded[folded.length - 1] = { sign: '…', count: last.count + 1 };
    else folded.push({ sign: '…', count: 1 });
  });
  return folded;
}
