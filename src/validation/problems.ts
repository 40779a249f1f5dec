import { formatPath, type Path } from './path.js';

/** Something wrong below a value that is being checked; `path` is relative to that value. */
export interface Issue {
  readonly path: Path;
  readonly message: string;
}

/** One thing wrong with the configuration, as the operator reads it. Messages never hold values of secrets. */
export interface Problem {
  readonly path: string;
  readonly message: string;
  /** Of the configuration file; absent when the value came from elsewhere. */
  readonly line?: number;
}

/** An issue with the value itself. */
export function issue(message: string): Issue[] {
  return [{ path: [], message }];
}

/** The same issues, seen from above: `below(['a', 0], issues)`. */
export function below(path: Path, issues: readonly Issue[]): Issue[] {
  return issues.map((found) => ({ path: [...path, ...found.path], message: found.message }));
}

/** Says where each issue comes from: a line of the file, or the name of what set the value. */
export interface Locator {
  find(path: Path): { line?: number; setBy?: string };
}

/** Turns issues into problems, sorted as they stand in the file; those without a line come last. */
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

/** The configuration is refused as a whole; the message lists every problem, one a line. */
export class ConfigurationError extends Error {
  override readonly name = 'ConfigurationError';

  constructor(readonly problems: readonly Problem[]) {
    super(
      `The configuration is not valid:\n${problems.map((problem) => `  ${formatProblem(problem)}`).join('\n')}`,
    );
  }
}
