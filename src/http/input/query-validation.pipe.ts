import { type ArgumentMetadata, Injectable, type PipeTransform } from '@nestjs/common';
import { LRUCache } from 'lru-cache';
import { checkShape } from '../../validation/class-checks.js';
import { formatPath } from '../../validation/problems.js';
import { ApiError } from '../errors.js';

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
