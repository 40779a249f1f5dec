import { Injectable, type PipeTransform } from '@nestjs/common';
import { isObject } from '../../json/json-values.js';
import { below, issue } from '../../validation/problems.js';
import { invalidBody, readBody } from './body-validation.pipe.js';

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
