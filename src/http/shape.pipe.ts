import { Injectable, type PipeTransform } from '@nestjs/common';
import { formatPath } from '../config/path.js';
import { checkShape } from '../config/shape.js';
import { ApiError } from './errors.js';

/** Judges a body by the class that also judges the configuration file, unknown keys included: 400 `invalid_body`. */
@Injectable()
export class ShapePipe<T extends object> implements PipeTransform<unknown, T> {
  constructor(private readonly shape: new () => T) {}

  transform(body: unknown): T {
    if (body === undefined) throw new ApiError('invalid_body', 'A JSON body is needed');
    const { value, issues } = checkShape(this.shape, body);
    if (issues.length === 0) return value;
    const details = issues.map(({ path, message }) =>
      path.length === 0 ? `the body ${message}` : `${formatPath(path)}: ${message}`,
    );
    throw new ApiError('invalid_body', `The body is not valid: ${details.join('; ')}`, details);
  }
}
