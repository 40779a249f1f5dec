import { findClaimsIssues } from '../claims/claim-rules.js';
import { parseDuration } from './duration.js';
import { below, type Issue, issue } from './problems.js';

/** Lists also come from callers of the API: nothing about them may take long. */
const MAX_ITEMS = 1_000;
const MAX_PATTERN = 255;

/** Checks one value that is present: no issues means it is fine. Must take anything and never throw. */
export type Check = (value: unknown) => Issue[];

const CONTROL = /\p{Cc}|\p{Surrogate}/u;
const DNS_LABEL = /^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$/;

/** Names what was found instead, without showing it: it may be a secret. */
export function foundKind(value: unknown): string {
  if (value === null || value === undefined) return 'nothing';
  if (Array.isArray(value)) return 'a list';
  return typeof value === 'object' ? 'a map' : `a ${typeof value}`;
}

/** A non-empty string without control characters; `more` checks it further and returns a message, or nothing. */
export function text(more?: (value: string) => string | undefined): Check {
  return (value) => {
    if (typeof value === 'number' || typeof value === 'boolean')
      return issue(`must be a string, not ${foundKind(value)}: put it in quotes`);
    if (typeof value !== 'string') return issue(`must be a string, not ${foundKind(value)}`);
    if (value.trim() === '') return issue('must not be empty');
    if (CONTROL.test(value)) return issue('must not hold control characters');
    const message = more?.(value);
    return message === undefined ? [] : issue(message);
  };
}

/** Any text PostgreSQL takes, which is all without NUL. */
export const storableText: Check = (value) =>
  typeof value === 'string' && !value.includes('\0') ? [] : issue('must be text without NUL characters');

/** Text of at most so many characters (not UTF-16 units) that PostgreSQL takes as jsonb too. */
export function textUpTo(maxLength: number): Check {
  return (value) =>
    typeof value === 'string' && [...value].length <= maxLength && !/\0|\p{Surrogate}/u.test(value)
      ? []
      : issue(`must be text of at most ${maxLength} characters`);
}

/** For a value that is checked elsewhere. */
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

/** A duration within bounds of its own. */
export function durationFrom(shortest: string, longest: string): Check {
  const [shortestMs = 0, longestMs] = [shortest, longest].map((text) => parseDuration(text, 0));
  return (value) =>
    typeof value === 'string' && parseDuration(value, shortestMs, longestMs) !== undefined
      ? []
      : issue(`must be a duration from ${shortest} to ${longest} with units, such as ${longest}`);
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
        return below([position], issue(`${JSON.stringify(element)} stands in the list already`));
      seen.add(element);
      return below([position], each(element));
    });
  };
}

export const claims: Check = (value) =>
  findClaimsIssues(value).map(({ key, message }) => ({ path: key === undefined ? [] : [key], message }));

/** spec §2.3: a map that grants a role. Everybody covers an empty one, which nobody can have meant. */
export const roleRule: Check = (value) => {
  const issues = claims(value);
  if (issues.length > 0) return issues;
  return Object.keys(Object(value)).length === 0
    ? issue('must name at least one claim: an empty rule fits everybody')
    : [];
};

/** contract §2: patterns of `*` and `?`. Elsewhere "[" begins a set of characters; taken to the letter, it would match nothing. */
export const globs: Check = listOf(
  text((value) => {
    if (value.length > MAX_PATTERN) return `must have at most ${MAX_PATTERN} characters`;
    return value.includes('[')
      ? 'must not hold "[": sets of characters are not supported, "*" is any text and "?" one character'
      : undefined;
  }),
  { most: 200 },
);
