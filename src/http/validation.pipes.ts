import { type ArgumentMetadata, Injectable, type PipeTransform, Query } from '@nestjs/common';
import { LRUCache } from 'lru-cache';
import { isObject } from '../json/json-values.js';
import { checkShape } from '../validation/class-checks.js';
import { below, formatPath, type Issue, issue } from '../validation/problems.js';
import { dnsLabel, foundKind } from '../validation/value-checks.js';
import { ApiError } from './errors.js';

/** Keys and values of bodies may be of any length, and there may be any number of them. */
const MAX_DETAILS = 50;
const MAX_LENGTH = 300;

/** Validates a body by a class, such as one that the configuration file is checked by too: see `readBody`. */
@Injectable()
export class BodyValidation<T extends object> implements PipeTransform<unknown, T> {
  constructor(private readonly shape: new () => T) {}

  transform(body: unknown): T {
    return readBody(this.shape, body);
  }
}

/**
 * The body as an object of the class.
 *
 * @throws ApiError 400 `invalid_body` for one that is not as the class says, unknown keys included.
 */
export function readBody<T extends object>(shape: new () => T, body: unknown): T {
  if (!isObject(body)) throw invalidBody(issue(`must be a JSON object, not ${foundKind(body)}`));
  const { value, issues } = checkShape(shape, body);
  if (issues.length > 0) throw invalidBody(issues);
  return value;
}

/** The refusal of a body, with one sentence per issue in the details. */
export function invalidBody(issues: readonly Issue[]): ApiError {
  const details = issues
    .map(({ path, message }) =>
      path.length === 0 ? `the body ${message}` : `${formatPath(path)}: ${message}`,
    )
    .slice(0, MAX_DETAILS)
    .map((detail) => detail.slice(0, MAX_LENGTH));
  return new ApiError('invalid_body', `The body is not valid: ${details.join('; ')}`, details);
}

/** The body of a PUT: what it sets, and what it repeats of the answer to a GET although only the server sets it. */
export interface PutBody<T> {
  readonly settings: T;
  readonly repeated: Readonly<Record<string, unknown>>;
}

/** Which members of an answer a PUT may repeat (contract §7). */
interface ReadOnlyMembers {
  /** Those that must be as they are stored. */
  readonly equal: readonly string[];
  /** Those that change by themselves: whatever they are does not matter. */
  readonly ignored?: readonly string[];
}

/** Takes what a GET has answered for the body of a PUT (contract §7): the rest of it is validated by a class, as `readBody` does. */
@Injectable()
export class PutBodyPipe<T extends object> implements PipeTransform<unknown, PutBody<T>> {
  constructor(
    private readonly shape: new () => T,
    private readonly members: ReadOnlyMembers,
  ) {}

  transform(body: unknown): PutBody<T> {
    if (!isObject(body)) return { settings: readBody(this.shape, body), repeated: {} };
    const { equal, ignored = [] } = this.members;
    const entries = Object.entries(body);
    const settable = entries.filter(([key]) => !equal.includes(key) && !ignored.includes(key));
    return {
      settings: readBody(this.shape, Object.fromEntries(settable)),
      repeated: Object.fromEntries(entries.filter(([key]) => equal.includes(key))),
    };
  }
}

/**
 * @param stored the resource as a GET shows it; of one that is new, what is known of it already.
 * @throws ApiError 400 `invalid_body` for a member that is not as it is stored.
 */
export function checkRepeated(repeated: PutBody<unknown>['repeated'], stored: object): void {
  const known = new Map(Object.entries(stored));
  const issues = Object.entries(repeated).flatMap(([key, value]) => {
    if (known.get(key) === value) return [];
    const message = known.has(key)
      ? `cannot be changed: it is ${JSON.stringify(known.get(key))}; leave it out`
      : 'is set by the server: leave it out';
    return below([key], issue(message));
  });
  if (issues.length > 0) throw invalidBody(issues);
}

/** Memory for queries that were found valid, counted by the length of their text. */
const CACHED_CHARACTERS = 1024 * 1024;

/** What TypeScript leaves of a type that is no class: nothing could be refused by it. */
const NO_CLASSES: readonly unknown[] = [Object, Array, String, Number, Boolean, Promise, Function];

/**
 * Validates every query by the class of its parameter: 400 `invalid_parameter`. Unknown parameters are ignored (contract §6).
 * Clients ask the same over and over: what was found valid is not checked again.
 *
 * @throws Error for a parameter that is no query, or has no class: a mistake in the route.
 */
@Injectable()
export class QueryValidation implements PipeTransform<unknown, unknown> {
  private readonly validQueries = new LRUCache<string, object>({ maxSize: CACHED_CHARACTERS });

  transform(value: unknown, { type, metatype }: ArgumentMetadata): unknown {
    if (type !== 'query' || metatype === undefined || NO_CLASSES.includes(metatype))
      throw new Error('A query has to be declared as a whole, with a class');
    const text = `${metatype.name} ${JSON.stringify(value)}`;
    const known = this.validQueries.get(text);
    if (known) return known;
    const query = Object.freeze(validated(metatype, value));
    this.validQueries.set(text, query, { size: text.length });
    return query;
  }
}

function validated(shape: new () => object, query: unknown): object {
  const { value, issues } = checkShape(shape, query, { unknownKeys: 'ignored' });
  if (issues.length === 0) return value;
  const details = issues.map(({ path, message }) => `${formatPath(path)}: ${message}`);
  throw new ApiError('invalid_parameter', details.join('; '), details);
}

/**
 * The query of a request, validated by the class of the argument. Not by a step for all arguments: it would have nothing to do for the
 * others, and make promises for each of them.
 */
export const ValidQuery = (): ParameterDecorator => Query(QueryValidation);

/** The name of something that is to be created: 400 `invalid_name` for what the configuration would refuse too. */
@Injectable()
export class DnsNamePipe implements PipeTransform<string, string> {
  transform(name: string): string {
    if (dnsLabel(name).length > 0) throw new ApiError('invalid_name');
    return name;
  }
}
