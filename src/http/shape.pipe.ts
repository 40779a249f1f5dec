import { Injectable, type PipeTransform } from '@nestjs/common';
import { formatPath } from '../validation/path.js';
import { checkShape } from '../validation/shape.js';
import { ApiError } from './errors.js';

/** Keys and values of bodies may be of any length, and there may be any number of them. */
const MAX_DETAILS = 50;
const MAX_LENGTH = 300;

/** Judges a body by the class that also judges the configuration file, unknown keys included: 400 `invalid_body`. */
@Injectable()
export class ShapePipe<T extends object> implements PipeTransform<unknown, T> {
  constructor(private readonly shape: new () => T) {}

  transform(body: unknown): T {
    if (body === undefined) throw new ApiError('invalid_body', 'A JSON body is needed');
    const { value, issues } = checkShape(this.shape, body);
    if (issues.length === 0) return value;
    const details = issues
      .map(({ path, message }) =>
        path.length === 0 ? `the body ${message}` : `${formatPath(path)}: ${message}`,
      )
      .slice(0, MAX_DETAILS)
      .map((detail) => detail.slice(0, MAX_LENGTH));
    throw new ApiError('invalid_body', `The body is not valid: ${details.join('; ')}`, details);
  }
}
