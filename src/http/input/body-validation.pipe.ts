import { Injectable, type PipeTransform } from '@nestjs/common';
import { isObject } from '../../json/json-values.js';
import { checkShape } from '../../validation/class-checks.js';
import { formatPath, type Issue, issue } from '../../validation/problems.js';
import { foundKind } from '../../validation/value-checks.js';
import { ApiError } from '../errors.js';

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
