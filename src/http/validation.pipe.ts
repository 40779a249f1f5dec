import { type ArgumentMetadata, Injectable, type PipeTransform } from '@nestjs/common';
import { MAX_CLAIM_VALUES } from '../claims/claims.js';
import { isObject } from '../json/json-values.js';
import { checkShape, countClaimValues } from '../validation/class-validation.js';
import { below, dnsLabel, formatPath, foundKind, type Issue, issue } from '../validation/value-checks.js';
import { ApiError } from './errors.js';

/** Limits for error details: a body may contain any number of keys of any length. */
const MAX_DETAILS = 50;
const MAX_LENGTH = 300;

/** Metatypes that TypeScript emits for parameters without a class. Validation against them would accept anything. */
const NO_CLASSES: readonly unknown[] = [undefined, Object, Array, String, Number, Boolean, Promise, Function];

type Class<T extends object = object> = new () => T;

/**
 * Global pipe. Validates `@Body()` and `@Query()` against the parameter's class; ignores other parameters.
 *
 * @throws ApiError 400 `invalid_body`, 400 `invalid_parameter`.
 * @throws Error for a body or query without a DTO class, which is a programming error.
 */
@Injectable()
export class RequestValidationPipe implements PipeTransform<unknown, unknown> {
  transform(value: unknown, { type, metatype, data }: ArgumentMetadata): unknown {
    if (type !== 'query' && type !== 'body') return value;
    if (data !== undefined || NO_CLASSES.includes(metatype))
      throw new Error(`The ${type} of a route must be one parameter with a DTO class`);
    const shape = metatype as Class;
    return type === 'body' ? readBody(shape, value) : readQuery(shape, value);
  }
}

// Unknown parameters are ignored (reference/catalog).
function readQuery(shape: Class, query: unknown): object {
  const { value, issues } = checkShape(shape, query, { unknownKeys: 'ignored' });
  if (issues.length === 0) return value;
  const details = issues.map(({ path, message }) => `${formatPath(path)}: ${message}`);
  throw new ApiError('invalid_parameter', details.join('; '), details);
}

/**
 * Returns the body as an instance of the class.
 *
 * @throws ApiError 400 `too_many_claims` before further checks, whose cost depends on the claims (reference/errors); 400
 *   `invalid_body` with every problem, including unknown keys.
 */
export function readBody<T extends object>(shape: Class<T>, body: unknown): T {
  if (!isObject(body)) throw invalidBody(issue(`must be a JSON object, not ${foundKind(body)}`));
  if (countClaimValues(shape, body) > MAX_CLAIM_VALUES) throw new ApiError('too_many_claims');
  const { value, issues } = checkShape(shape, body);
  if (issues.length > 0) throw invalidBody(issues);
  return value;
}

/** Creates a 400 `invalid_body` with one sentence per issue in the details. */
export function invalidBody(issues: readonly Issue[]): ApiError {
  const details = issues
    .map(({ path, message }) =>
      path.length === 0 ? `the body ${message}` : `${formatPath(path)}: ${message}`,
    )
    .slice(0, MAX_DETAILS)
    .map((detail) => detail.slice(0, MAX_LENGTH));
  return new ApiError('invalid_body', `The body is not valid: ${details.join('; ')}`, details);
}

/**
 * Lets a PUT repeat the read-only members of a GET response with their stored values (reference/sources).
 *
 * @param stored the resource as GET returns it; for a new resource, the members known so far.
 * @throws ApiError 400 `invalid_body` for a member that differs.
 */
export function checkReadOnlyMembers<T extends object>(
  body: T,
  members: readonly (keyof T & string)[],
  stored: object,
): void {
  const storedMembers = new Map(Object.entries(stored));
  const issues = members.flatMap((key) => {
    const value = body[key];
    if (value === undefined || storedMembers.get(key) === value) return [];
    const message = storedMembers.has(key)
      ? `cannot be changed: it is ${JSON.stringify(storedMembers.get(key))}; leave it out`
      : 'is set by the server: leave it out';
    return below([key], issue(message));
  });
  if (issues.length > 0) throw invalidBody(issues);
}

/** Validates the name of a new resource: 400 `invalid_name` unless it is a DNS label. */
@Injectable()
export class DnsNamePipe implements PipeTransform<string, string> {
  transform(name: string): string {
    if (dnsLabel(name).length > 0) throw new ApiError('invalid_name');
    return name;
  }
}
