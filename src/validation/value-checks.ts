/** The keys and positions that lead to a value. */
export type Path = readonly (string | number)[];

/** Formats a path as `auth.oauth.providers[0].issuerUrl`; keys that are not plain words are quoted: `claims["a b"]`. */
export function formatPath(path: Path): string {
  return path
    .map((step, index) => {
      if (typeof step === 'number') return `[${step}]`;
      if (!/^-{0,2}[A-Za-z_][\w-]*$/.test(step)) return `[${JSON.stringify(step)}]`;
      return index === 0 ? step : `.${step}`;
    })
    .join('');
}

/** A problem with a value, or with a value nested in it; `path` is relative to the outer value. */
export interface Issue {
  readonly path: Path;
  readonly message: string;
}

/** A problem with the configuration, as shown to the operator. Messages never contain secrets. */
export interface Problem {
  readonly path: string;
  readonly message: string;
  /** The line in the configuration file; absent when the value comes from elsewhere. */
  readonly line?: number;
}

/** Returns an issue about the value itself. */
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

/** Formats a problem as `path: message (line N)`. */
function formatProblem({ path, message, line }: Problem): string {
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

/** Returns the closest candidate for "did you mean …?"; undefined when none is close. */
export function nearest(word: string, candidates: readonly string[]): string | undefined {
  const plain = simplify(word);
  const ranked = candidates
    .map((candidate) => ({ candidate, distance: editDistance(plain, simplify(candidate)) }))
    .sort((one, other) => one.distance - other.distance);
  const best = ranked[0];
  // Allows two typos in a long word, one in a short word.
  const allowed = word.length > 4 ? 2 : 1;
  return best && best.distance <= allowed ? best.candidate : undefined;
}

// Many typos are only in case and separators. The word is truncated to bound the time.
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

const SECOND = 1_000;
const UNITS = { d: 86_400 * SECOND, h: 3_600 * SECOND, m: 60 * SECOND, s: SECOND } as const;
const FORM = /^(?=\d)(?:(\d{1,9})d)?(?:(\d{1,9})h)?(?:(\d{1,9})m)?(?:(\d{1,9})s)?$/;

const SHORTEST_MS = SECOND;
const LONGEST_MS = 365 * UNITS.d;

/**
 * Parses `30m`, `1h30m`, `45s`, `2d`: whole numbers, units from large to small, each once. Refuses plain numbers as
 * ambiguous.
 *
 * @returns milliseconds; undefined for other text and for durations outside the bounds (by default, 1 s to 365 d).
 */
export function parseDuration(
  text: string,
  shortestMs: number = SHORTEST_MS,
  longestMs: number = LONGEST_MS,
): number | undefined {
  const match = FORM.exec(text);
  if (!match) return undefined;
  const [days = 0, hours = 0, minutes = 0, seconds = 0] = match.slice(1).map((digits) => Number(digits ?? 0));
  const total = days * UNITS.d + hours * UNITS.h + minutes * UNITS.m + seconds * UNITS.s;
  return total >= shortestMs && total <= longestMs ? total : undefined;
}

/** Formats milliseconds (whole seconds) as `1h30m`, which `parseDuration` accepts; the largest unit is the hour. */
export function formatDuration(ms: number): string {
  const parts = [
    { amount: Math.floor(ms / UNITS.h), unit: 'h' },
    { amount: Math.floor((ms % UNITS.h) / UNITS.m), unit: 'm' },
    { amount: Math.floor((ms % UNITS.m) / UNITS.s), unit: 's' },
  ];
  const given = parts.filter(({ amount }) => amount > 0);
  return given.length > 0 ? given.map(({ amount, unit }) => `${amount}${unit}`).join('') : '0s';
}

/** Checks a value of any type and returns its issues. Never throws. */
export type Check = (value: unknown) => Issue[];

/** Describes a value's type, not the value, which may be secret. Symbols of `toInstance` name their type. */
export function foundKind(value: unknown): string {
  if (value === null || value === undefined) return 'nothing';
  if (typeof value === 'symbol') return value.description ?? '';
  if (Array.isArray(value)) return 'a list';
  return typeof value === 'object' ? 'a map' : `a ${typeof value}`;
}

const SIZE_UNITS: Readonly<Record<string, number>> = { KiB: 1_024, MiB: 1_024 ** 2, GiB: 1_024 ** 3 };

/** Returns the bytes of a size such as `64MiB`; undefined if the text is not a size. */
export function parseSize(text: string): number | undefined {
  const [, digits, unit] = /^([1-9]\d{0,5})(KiB|MiB|GiB)$/.exec(text) ?? [];
  return unit === undefined ? undefined : Number(digits) * (SIZE_UNITS[unit] ?? Number.NaN);
}

// RFC 3339 §5.6 without leap seconds, which PostgreSQL and JavaScript do not support.
const TIMESTAMP =
  /^(\d{4})-(\d\d)-(\d\d)[Tt ]([01]\d|2[0-3]):[0-5]\d:[0-5]\d(\.\d{1,9})?([Zz]|[+-]([01]\d|2[0-3]):[0-5]\d)$/;

/** Parses an RFC 3339 date-time, truncated to milliseconds; null for anything else, including February 30. */
export function parseTimestamp(text: string): Date | null {
  const match = TIMESTAMP.exec(text);
  if (!match) return null;
  const [year, month, day] = [Number(match[1]), Number(match[2]), Number(match[3])];
  const calendar = new Date(Date.UTC(2000, 0, 1));
  calendar.setUTCFullYear(year, month - 1, day);
  if (calendar.getUTCMonth() !== month - 1 || calendar.getUTCDate() !== day) return null;
  const moment = new Date(text.replace(' ', 'T').toUpperCase());
  // The offset can move the time outside the years that PostgreSQL and RFC 3339 share.
  const utcYear = moment.getUTCFullYear();
  return utcYear >= 1 && utcYear <= 9999 ? moment : null;
}

/** Maximum versions or entries per page (reference/catalog, reference/sources). */
export const MAX_PAGE = 100;
