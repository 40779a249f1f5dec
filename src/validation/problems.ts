/** The keys and positions that lead to a value. */
export type Path = readonly (string | number)[];

/** `auth.oauth.providers[0].issuerUrl`; other keys than plain words are quoted: `claims["a b"]`. */
export function formatPath(path: Path): string {
  return path
    .map((step, index) => {
      if (typeof step === 'number') return `[${step}]`;
      if (!/^-{0,2}[A-Za-z_][\w-]*$/.test(step)) return `[${JSON.stringify(step)}]`;
      return index === 0 ? step : `.${step}`;
    })
    .join('');
}

/** A problem of a value or below it; `path` is relative to the value. */
export interface Issue {
  readonly path: Path;
  readonly message: string;
}

/** A problem of the configuration, as shown to the operator. Messages never contain secrets. */
export interface Problem {
  readonly path: string;
  readonly message: string;
  /** In the configuration file; absent when the value comes from elsewhere. */
  readonly line?: number;
}

/** An issue of the value itself. */
export function issue(message: string): Issue[] {
  return [{ path: [], message }];
}

/** Prefixes the paths of issues: `below(['a', 0], issues)`. */
export function below(path: Path, issues: readonly Issue[]): Issue[] {
  return issues.map((found) => ({ path: [...path, ...found.path], message: found.message }));
}

/** Finds the origin of an issue: a line of the file, or the flag or variable that set the value. */
export interface Locator {
  find(path: Path): { line?: number; setBy?: string };
}

/** Turns issues into problems, sorted by line; problems without a line come last. */
export function problemsOf(issues: readonly Issue[], locator: Locator): Problem[] {
  const problems = issues.map(({ path, message }): Problem => {
    const { line, setBy } = locator.find(path);
    if (setBy !== undefined) return { path: formatPath(path), message: `${message} (set by ${setBy})` };
    return { path: formatPath(path), message, ...(line === undefined ? {} : { line }) };
  });
  return problems.sort((one, other) => (one.line ?? Number.MAX_VALUE) - (other.line ?? Number.MAX_VALUE));
}

/** `path: message (line N)` */
export function formatProblem({ path, message, line }: Problem): string {
  return `${path}: ${message}${line === undefined ? '' : ` (line ${line})`}`;
}

/** The configuration is invalid; the message lists every problem, one per line. */
export class ConfigurationError extends Error {
  override readonly name = 'ConfigurationError';

  constructor(readonly problems: readonly Problem[]) {
    super(
      `The configuration is not valid:\n${problems.map((problem) => `  ${formatProblem(problem)}`).join('\n')}`,
    );
  }
}

/** The closest candidate, for a "did you mean"; undefined when none is close. */
export function nearest(word: string, candidates: readonly string[]): string | undefined {
  const plain = simplify(word);
  const ranked = candidates
    .map((candidate) => ({ candidate, distance: editDistance(plain, simplify(candidate)) }))
    .sort((one, other) => one.distance - other.distance);
  const best = ranked[0];
  // Two typos in a long word, one in a short one.
  const allowed = word.length > 4 ? 2 : 1;
  return best && best.distance <= allowed ? best.candidate : undefined;
}

// Typos are often in case and separators only. Truncated to bound the time.
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
