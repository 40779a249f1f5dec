import type { Check } from './value-checks.js';
import { issue } from './problems.js';
import { parseTimestamp } from './timestamp.js';

/**
 * A parameter of a query: its value is text, and an array when it is given several times.
 *
 * @param meant what it must be, for the sentence of a refusal.
 */
export function givenOnce(meant: string, fits: (text: string) => boolean): Check {
  return (value) => (typeof value === 'string' && fits(value) ? [] : issue(`${meant}, given once`));
}

/** As if it were not given when it is empty (contract §6). */
export function emptyOr(check: Check): Check {
  return (value) => (value === '' ? [] : check(value));
}

/** What it holds is checked where it is decoded. */
export const cursorParameter: Check = (value) => (typeof value === 'string' ? [] : issue('give it once'));

export const flagParameter = givenOnce('true or false', (text) => text === 'true' || text === 'false');

export const timestampParameter = givenOnce(
  'an RFC 3339 date and time such as 2025-08-07T13:15:04Z',
  (text) => parseTimestamp(text) !== null,
);

/** One of several words: `active, deprecated or archived`. */
export function wordParameter(words: readonly string[]): Check {
  const meant = `${words.slice(0, -1).join(', ')} or ${words.at(-1) ?? ''}`;
  return givenOnce(meant, (text) => words.includes(text));
}

/** Text that is compared in the database; PostgreSQL takes no NUL. */
export function textParameter(meant: string, maxLength: number): Check {
  const once = givenOnce(meant, (text) => !text.includes('\0'));
  return (value) =>
    typeof value === 'string' && value.length > maxLength
      ? issue(`at most ${maxLength} characters`)
      : once(value);
}
