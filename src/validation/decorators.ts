import { applyDecorators } from '@nestjs/common';
import { ApiPropertyOptional } from '@nestjs/swagger';
import { registerDecorator, ValidateIf, type ValidationOptions } from 'class-validator';
import { findClaimsIssues } from '../claims/claims.js';
import { elements, member } from '../json/json-values.js';
import { isStorable } from './storable-text.js';
import { isHttpOrigin, parseHost, urlProblem } from './urls.js';
import {
  below,
  type Check,
  foundKind,
  issue,
  MAX_PAGE,
  parseDuration,
  parseSize,
  parseTimestamp,
} from './value-checks.js';

/** Creates a decorator that class-validator lacks. Its check may find problems inside the value. */
export function decoratorOf(name: string, check: Check, options?: ValidationOptions): PropertyDecorator {
  return (target, property) =>
    registerDecorator({
      name,
      target: target.constructor,
      propertyName: String(property),
      options: { ...options, context: { check } },
      validator: { validate: (value: unknown) => check(value).length === 0 },
    });
}

/** Creates a decorator with a single message. */
export function decoratorFor(name: string, fits: (value: unknown) => boolean, problem: string) {
  const check: Check = (value) => (fits(value) ? [] : issue(problem));
  return (options?: ValidationOptions) => decoratorOf(name, check, options);
}

/**
 * Creates a decorator for a string without control characters.
 *
 * @param problemOf returns a problem, or nothing.
 */
export function textDecorator(name: string, problemOf: (text: string) => string | undefined) {
  const check: Check = (value) => {
    const problem = textProblem(value) ?? problemOf(String(value));
    return problem === undefined ? [] : issue(problem);
  };
  return (options?: ValidationOptions) => decoratorOf(name, check, options);
}

const CONTROL = /\p{Cc}|\p{Surrogate}/u;

/** Returns the problem with a value that should be a string, or nothing. */
export function textProblem(value: unknown): string | undefined {
  if (typeof value === 'number' || typeof value === 'boolean')
    return `must be a string, not ${foundKind(value)}: put it in quotes`;
  if (typeof value !== 'string') return `must be a string, not ${foundKind(value)}`;
  if (value.trim() === '') return 'must not be empty';
  return CONTROL.test(value) ? 'must not contain control characters' : undefined;
}

/** A string that is not empty and has no control characters. */
export const IsText = textDecorator('isText', () => undefined);

const DNS_LABEL = /^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$/;

export function isDnsLabel(text: string): boolean {
  return DNS_LABEL.test(text);
}

export const IsDnsLabel = textDecorator('isDnsLabel', (text) =>
  isDnsLabel(text)
    ? undefined
    : 'must be a DNS label: lower-case letters and digits, with hyphens only inside, at most 63 characters',
);

/** An http(s) URL without user and password, because URLs are shown and stored. */
export const IsHttpUrl = textDecorator('isHttpUrl', (text) => urlProblem(text));

/** The name of a file that is read at startup (`referenced-files.ts`). */
export const IsFileName = textDecorator('isFileName', () => undefined);

/** A URL that receives secrets or keys, so it must be https:// except on loopback (`cross-rules.ts`). */
export const IsSecureUrl = textDecorator('isSecureUrl', (text) => urlProblem(text));

/** A base URL to which paths are added: it has no query and no fragment. */
export const IsBaseUrl = textDecorator('isBaseUrl', (text) => urlProblem(text, { bare: true }));

export const IsHttpOrigin = textDecorator('isHttpOrigin', (text) =>
  isHttpOrigin(text) ? undefined : 'must be an origin such as https://login.example.com',
);

export const IsHost = textDecorator('isHost', (text) =>
  parseHost(text) === undefined ? 'must be a host name without scheme, port and path' : undefined,
);

const MAX_GLOB = 255;

/** reference/configuration: a pattern with `*` and `?`. Refuses "[", which other globs use for sets of characters. */
export const IsGlob = textDecorator('isGlob', (text) => {
  if (text.length > MAX_GLOB) return `must have at most ${MAX_GLOB} characters`;
  return text.includes('[')
    ? 'must not contain "[": sets of characters are not supported, "*" is any text and "?" one character'
    : undefined;
});

/** A list whose items have unique names. */
export const HasUniqueNames = () =>
  decoratorOf('hasUniqueNames', (list) => {
    const names = elements(list).map((item) => member(item, 'name'));
    return names.flatMap((name, position) =>
      typeof name === 'string' && names.indexOf(name) < position
        ? below(
            [position, 'name'],
            issue(`${JSON.stringify(name)} is already in the list: names must be unique`),
          )
        : [],
    );
  });

/** Text that PostgreSQL can store. */
export const IsStorable = decoratorFor(
  'isStorable',
  (value) => typeof value === 'string' && isStorable(value),
  'must be text without NUL characters or unpaired surrogates',
);

/** A duration with units, such as `1h30m`. */
export function IsDuration(shortest = '1s', longest = '365d'): PropertyDecorator {
  const [shortestMs = 0, longestMs] = [shortest, longest].map((text) => parseDuration(text, 0));
  return decoratorFor(
    'isDuration',
    (value) => typeof value === 'string' && parseDuration(value, shortestMs, longestMs) !== undefined,
    `must be a duration from ${shortest} to ${longest} with units, such as ${longest}`,
  )();
}

/** A size with a unit, such as `64MiB`. */
export function IsSize(smallest: string, largest: string): PropertyDecorator {
  const [least = 0, most = 0] = [smallest, largest].map(parseSize);
  return decoratorFor(
    'isSize',
    (value) => {
      const bytes = typeof value === 'string' ? parseSize(value) : undefined;
      return bytes !== undefined && bytes >= least && bytes <= most;
    },
    `must be a size from ${smallest} to ${largest} with a unit, such as ${largest}`,
  )();
}

const claims: Check = (value) =>
  findClaimsIssues(value).map(({ key, message }) => ({ path: key === undefined ? [] : [key], message }));

/** The claims of a resource (reference/access). `countClaimValues` counts their values. */
export const IsClaims = (options?: ValidationOptions) => decoratorOf('isClaims', claims, options);

/** Claims that a caller must have. An empty map is refused: it would mean everybody. */
export const IsSomeClaims = (options?: ValidationOptions) =>
  decoratorOf(
    'isClaims',
    (value) => {
      const issues = claims(value);
      return issues.length === 0 && Object.keys(Object(value)).length === 0
        ? issue('must have at least one claim: every caller satisfies an empty map')
        : issues;
    },
    options,
  );

/** A raw `+` in a query is a space. */
const LOST_PLUS = / (?=\d\d:\d\d$)/;

/** An RFC 3339 date and time. Stricter than `IsRFC3339`, which accepts February 30 and leap seconds. */
export const IsTimestamp = textDecorator('isTimestamp', (text) => {
  if (parseTimestamp(text)) return undefined;
  return LOST_PLUS.test(text) && parseTimestamp(text.replace(LOST_PLUS, '+'))
    ? 'has a space where + should be: in a URL, write + as %2B'
    : 'must be an RFC 3339 date and time such as 2025-08-07T13:15:04Z';
});

/** The parameter may be absent or empty (reference/catalog). */
export const MayBeEmpty = () => ValidateIf((_, value) => value !== undefined && value !== '');

const flag = decoratorFor(
  'isFlag',
  (value) => value === 'true' || value === 'false',
  'must be true or false, given once',
);

/** A parameter that is `true` or `false`. */
export const IsFlag = () => applyDecorators(ApiPropertyOptional({ type: 'boolean' }), flag());

/**
 * The `limit` parameter of a list.
 *
 * @param standard its documented default.
 */
export function IsPageLimit(standard?: number, maximum = MAX_PAGE): PropertyDecorator {
  const limit = decoratorFor(
    'isPageLimit',
    (value) => typeof value === 'string' && /^[1-9]\d{0,3}$/.test(value) && Number(value) <= maximum,
    `must be a whole number from 1 to ${maximum}, given once`,
  );
  const schema = {
    type: 'integer',
    minimum: 1,
    maximum,
    ...(standard ? { default: standard } : {}),
  } as const;
  return applyDecorators(ApiPropertyOptional(schema), limit());
}
