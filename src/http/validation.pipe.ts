import {
  type ArgumentMetadata,
  Injectable,
  type PipeTransform,
  type Type,
  ValidationPipe,
} from '@nestjs/common';
import { instanceToPlain } from 'class-transformer';
import { MAX_CLAIM_VALUES } from '../claims/claims.js';
import { isObject } from '../json/json-values.js';
import { type Class, countClaimValues, issuesOf, toInstance } from '../validation/class-validation.js';
import { isDnsLabel } from '../validation/decorators.js';
import { below, formatPath, foundKind, type Issue, issue } from '../validation/value-checks.js';
import { ApiError } from './errors.js';

/** Limits for error details: a body may contain any number of keys of any length. */
const MAX_DETAILS = 50;
const MAX_LENGTH = 300;

/** Metatypes that TypeScript emits for parameters without a class. Validation against them would accept anything. */
const NO_CLASSES: readonly unknown[] = [undefined, Object, Array, String, Number, Boolean, Promise, Function];

/**
 * Nest's pipe, except that it refuses keys such as `constructor`, or accepts them as claim names, instead of deleting
 * them.
 */
class StrictPipe extends ValidationPipe {
  constructor(forbidNonWhitelisted: boolean, errorOf: (issues: Issue[]) => ApiError) {
    super({
      transform: true,
      whitelist: true,
      forbidNonWhitelisted,
      validationError: { target: true, value: true },
      transformerPackage: { plainToInstance: instanceToValidate, classToPlain: instanceToPlain },
      exceptionFactory: (errors) => errorOf(issuesOf(errors)),
    });
  }

  protected override stripProtoKeys(): void {}
}

/** @throws ApiError 400 `too_many_claims` before the checks, whose cost depends on the claims (reference/errors). */
function instanceToValidate<T>(shape: Type<T>, value: unknown): T {
  const instance = toInstance(shape as Class<T & object>, value as Record<string, unknown>);
  if (countClaimValues(instance) > MAX_CLAIM_VALUES) throw new ApiError('too_many_claims');
  return instance;
}

/**
 * Global pipe. Validates `@Body()` and `@Query()` against the parameter's class; ignores other parameters. Unknown keys of
 * a body are refused, unknown parameters ignored (reference/catalog).
 *
 * @throws ApiError 400 `invalid_body`, 400 `invalid_parameter`, 400 `too_many_claims`.
 * @throws Error for a body or query without a DTO class, which is a programming error.
 */
@Injectable()
export class RequestValidationPipe implements PipeTransform<unknown, unknown> {
  private readonly body = new StrictPipe(true, invalidBody);
  private readonly query = new StrictPipe(false, invalidParameter);

  transform(value: unknown, metadata: ArgumentMetadata): unknown {
    const { type, metatype, data } = metadata;
    if (type !== 'query' && type !== 'body') return value;
    if (data !== undefined || NO_CLASSES.includes(metatype))
      throw new Error(`The ${type} of a route must be one parameter with a DTO class`);
    if (type === 'body' && !isObject(value))
      throw invalidBody(issue(`must be a JSON object, not ${foundKind(value)}`));
    return this[type].transform(value, metadata);
  }
}

function invalidParameter(issues: readonly Issue[]): ApiError {
  const details = issues.map(({ path, message }) => `${formatPath(path)}: ${message}`);
  return new ApiError('invalid_parameter', details.join('; '), details);
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
    if (!isDnsLabel(name)) throw new ApiError('invalid_name');
    return name;
  }
}
