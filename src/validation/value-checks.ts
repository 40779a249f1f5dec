import { findClaimsIssues } from '../claims/claims.js';
import { isStorable } from './storable-text.js';

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

/** Returns an issue with the value itself. */
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

/** API callers can send lists too, so checking must stay fast. */
const MAX_ITEMS = 1_000;
const MAX_PATTERN = 255;

/** Checks a value of any type and returns its issues. Never throws. */
export type Check = (value: unknown) => Issue[];

const CONTROL = /\p{Cc}|\p{Surrogate}/u;
const DNS_LABEL = /^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$/;

/** Describes the type of a value. Does not show the value, which may be a secret. */
export function foundKind(value: unknown): string {
  if (value === null || value === undefined) return 'nothing';
  if (Array.isArray(value)) return 'a list';
  return typeof value === 'object' ? 'a map' : `a ${typeof value}`;
}

/** @param rule a further check on a non-empty string without control characters; returns a message or nothing. */
export function text(rule?: (value: string) => string | undefined): Check {
  return (value) => {
    if (typeof value === 'number' || typeof value === 'boolean')
      return issue(`must be a string, not ${foundKind(value)}: put it in quotes`);
    if (typeof value !== 'string') return issue(`must be a string, not ${foundKind(value)}`);
    if (value.trim() === '') return issue('must not be empty');
    if (CONTROL.test(value)) return issue('must not contain control characters');
    const message = rule?.(value);
    return message === undefined ? [] : issue(message);
  };
}

export const storableText: Check = (value) =>
  typeof value === 'string' && isStorable(value)
    ? []
    : issue('must be text without NUL characters and unpaired surrogates');

/** Accepts text that PostgreSQL can also store as jsonb. `maxLength` counts characters, not UTF-16 units. */
export function textUpTo(maxLength: number): Check {
  return (value) =>
    typeof value === 'string' &&
    // Counting the characters of a long text takes long.
    value.length <= 2 * maxLength &&
    [...value].length <= maxLength &&
    isStorable(value)
      ? []
      : issue(`must be text of at most ${maxLength} characters`);
}

/** Accepts any value; for values that are checked elsewhere. */
export const anything: Check = () => [];

export const dnsLabel: Check = text((value) =>
  DNS_LABEL.test(value)
    ? undefined
    : 'must be a DNS label: lower-case letters, digits and "-" inside, at most 63 characters',
);

export const duration: Check = (value) =>
  typeof value === 'string' && parseDuration(value) !== undefined
    ? []
    : issue('must be a duration from 1s to 365d with units, such as 30m, 1h30m or 45s');

/** A duration within these bounds. */
export function durationFrom(shortest: string, longest: string): Check {
  const [shortestMs = 0, longestMs] = [shortest, longest].map((text) => parseDuration(text, 0));
  return (value) =>
    typeof value === 'string' && parseDuration(value, shortestMs, longestMs) !== undefined
      ? []
      : issue(`must be a duration from ${shortest} to ${longest} with units, such as ${longest}`);
}

const SIZE_UNITS: Readonly<Record<string, number>> = { KiB: 1_024, MiB: 1_024 ** 2, GiB: 1_024 ** 3 };

/** Returns the bytes of a size such as `64MiB`; undefined if it is no size. */
export function parseSize(text: string): number | undefined {
  const [, digits, unit] = /^([1-9]\d{0,5})(KiB|MiB|GiB)$/.exec(text) ?? [];
  return unit === undefined ? undefined : Number(digits) * (SIZE_UNITS[unit] ?? Number.NaN);
}

/** A size within these bounds. */
export function sizeFrom(smallest: string, largest: string): Check {
  const [least = 0, most = 0] = [smallest, largest].map(parseSize);
  return (value) => {
    const bytes = typeof value === 'string' ? parseSize(value) : undefined;
    return bytes !== undefined && bytes >= least && bytes <= most
      ? []
      : issue(`must be a size from ${smallest} to ${largest} with a unit, such as ${largest}`);
  };
}

export const flag: Check = (value) =>
  typeof value === 'boolean' ? [] : issue(`must be true or false, not ${foundKind(value)}`);

export function wholeNumber(min: number, max: number): Check {
  return (value) =>
    typeof value === 'number' && Number.isInteger(value) && value >= min && value <= max
      ? []
      : issue(`must be a whole number from ${min} to ${max}`);
}

/** A number from 0 to 1. */
export const share: Check = (value) =>
  typeof value === 'number' && value >= 0 && value <= 1 ? [] : issue('must be a number from 0 to 1');

export function oneOf(...choices: string[]): Check {
  return (value) =>
    typeof value === 'string' && choices.includes(value) ? [] : issue(`must be one of ${choices.join(', ')}`);
}

export function listOf(
  each: Check,
  options: { notEmpty?: boolean; unique?: boolean; most?: number } = {},
): Check {
  const most = options.most ?? MAX_ITEMS;
  return (value) => {
    if (!Array.isArray(value)) return issue(`must be a list, not ${foundKind(value)}`);
    if (options.notEmpty && value.length === 0) return issue('must not be an empty list');
    if (value.length > most) return issue(`must not have more than ${most} items`);
    const seen = new Set<unknown>();
    return value.flatMap((element: unknown, position) => {
      if (options.unique && seen.has(element))
        return below([position], issue(`${JSON.stringify(element)} is already in the list`));
      seen.add(element);
      return below([position], each(element));
    });
  };
}

export const claims: Check = (value) =>
  findClaimsIssues(value).map(({ key, message }) => ({ path: key === undefined ? [] : [key], message }));

/** reference/access: a map that grants a role. An empty map is refused: it would grant the role to everybody. */
export const roleRule: Check = (value) => {
  const issues = claims(value);
  if (issues.length > 0) return issues;
  return Object.keys(Object(value)).length === 0
    ? issue('must have at least one claim: an empty rule matches everybody')
    : [];
};

/**
 * reference/configuration: patterns with `*` and `?`. Refuses "[", which would match nothing here; other globs use it for character
 * sets.
 */
export const globs: Check = listOf(
  text((value) => {
    if (value.length > MAX_PATTERN) return `must have at most ${MAX_PATTERN} characters`;
    return value.includes('[')
      ? 'must not contain "[": sets of characters are not supported, "*" is any text and "?" one character'
      : undefined;
  }),
  { most: 200 },
);

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

/**
 * Checks a query parameter, which is an array when it is given several times.
 *
 * @param expected what the value must be, for the message.
 */
export function givenOnce(expected: string, fits: (text: string) => boolean): Check {
  return (value) => (typeof value === 'string' && fits(value) ? [] : issue(`${expected}, given once`));
}

/** An empty parameter counts as absent (reference/catalog). */
export function emptyOr(check: Check): Check {
  return (value) => (value === '' ? [] : check(value));
}

/** The content of a cursor is checked when it is decoded. */
export const cursorParameter: Check = (value) => (typeof value === 'string' ? [] : issue('give it once'));

export const flagParameter = givenOnce('true or false', (text) => text === 'true' || text === 'false');

const timestampOnce = givenOnce(
  'an RFC 3339 date and time such as 2025-08-07T13:15:04Z',
  (text) => parseTimestamp(text) !== null,
);
/** In a query, a raw `+` is a space. */
const LOST_PLUS = / (?=\d\d:\d\d$)/;

export const timestampParameter: Check = (value) =>
  typeof value === 'string' && LOST_PLUS.test(value) && parseTimestamp(value.replace(LOST_PLUS, '+')) !== null
    ? issue('has a space where + should be: in a URL, write + as %2B')
    : timestampOnce(value);

/** Accepts one of several words, such as `active, deprecated or archived`. */
export function wordParameter(words: readonly string[]): Check {
  const meant = `${words.slice(0, -1).join(', ')} or ${words.at(-1) ?? ''}`;
  return givenOnce(meant, (text) => words.includes(text));
}

/** Text that is compared in the database. */
export function textParameter(meant: string, maxLength: number): Check {
  const once = givenOnce(meant, isStorable);
  return (value) =>
    typeof value === 'string' && value.length > maxLength
      ? issue(`at most ${maxLength} characters`)
      : once(value);
}

/** Maximum versions or entries per page (reference/catalog, reference/sources). */
export const MAX_PAGE = 100;

const PAGE_LIMIT = /^([1-9]\d?|100)$/;

/** The parameter `limit` of a list. */
export const limitParameter = givenOnce(`a whole number from 1 to ${MAX_PAGE}`, (text) =>
  PAGE_LIMIT.test(text),
);
