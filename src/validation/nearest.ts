/** The candidate that was probably meant, for a "did you mean"; undefined when none is near. */
export function nearest(word: string, candidates: readonly string[]): string | undefined {
  const plain = simplify(word);
  const ranked = candidates
    .map((candidate) => ({ candidate, distance: editDistance(plain, simplify(candidate)) }))
    .sort((one, other) => one.distance - other.distance);
  const best = ranked[0];
  // Two slips in a long word, one in a short one.
  const allowed = word.length > 4 ? 2 : 1;
  return best && best.distance <= allowed ? best.candidate : undefined;
}

// Keys and variables are often misspelt in case and separators only. Cut off: a distance is worth no more time.
function simplify(word: string): string {
  return word
    .slice(0, 64)
    .toLowerCase()
    .replaceAll(/[-_\s]/g, '');
}

function editDistance(one: string, other: string): number {
  let row = Array.from({ length: other.length + 1 }, (_, column) => column);
  for (const [index, letter] of [...one].entries()) {
    const next = [index + 1];
    for (let column = 1; column <= other.length; column++) {
      const replaced = (row[column - 1] ?? 0) + (letter === other[column - 1] ? 0 : 1);
      next.push(Math.min(replaced, (row[column] ?? 0) + 1, (next[column - 1] ?? 0) + 1));
    }
    row = next;
  }
  return row[other.length] ?? 0;
}
