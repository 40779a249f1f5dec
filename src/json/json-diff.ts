import { isObject } from './json-values.js';

/** An operation of a JSON Patch (RFC 6902). */
export type Operation =
  | { readonly op: 'add' | 'replace'; readonly path: string; readonly value: unknown }
  | { readonly op: 'remove'; readonly path: string };

/** Maximum number of values that are compared, which takes milliseconds. */
const MAX_COMPARISONS = 100_000;

/**
 * Returns a JSON Patch that changes one JSON value into another; of values that are too large, one that replaces all.
 * It takes linear time, so it finds only additions and removals between the equal starts and ends of two lists: the
 * shortest patch would take time exponential in the depth of nested lists.
 */
export function jsonDiff(before: unknown, after: unknown): Operation[] {
  return new Comparison().run(before, after) ?? [{ op: 'replace', path: '', value: after }];
}

class Comparison {
  private readonly operations: Operation[] = [];
  private comparisons = 0;

  /** Returns null if there is too much to compare. */
  run(before: unknown, after: unknown): Operation[] | null {
    this.compare(before, after, '');
    return this.isOver() ? null : this.operations;
  }

  private isOver(): boolean {
    return this.comparisons > MAX_COMPARISONS;
  }

  private compare(before: unknown, after: unknown, path: string): void {
    this.comparisons += 1;
    if (before === after || this.isOver()) return;
    if (isObject(before) && isObject(after)) this.compareObjects(before, after, path);
    else if (Array.isArray(before) && Array.isArray(after)) this.compareLists(before, after, path);
    else this.operations.push({ op: 'replace', path, value: after });
  }

  private compareObjects(
    before: Record<string, unknown>,
    after: Record<string, unknown>,
    path: string,
  ): void {
    for (const [key, value] of Object.entries(before)) {
      if (Object.hasOwn(after, key)) this.compare(value, after[key], below(path, key));
      else this.operations.push({ op: 'remove', path: below(path, key) });
    }
    for (const [key, value] of Object.entries(after))
      if (!Object.hasOwn(before, key)) this.operations.push({ op: 'add', path: below(path, key), value });
  }

  private compareLists(before: readonly unknown[], after: readonly unknown[], path: string): void {
    const common = Math.min(before.length, after.length);
    let start = 0;
    let end = 0;
    if (before.length !== after.length) {
      while (start < common && this.areEqual(before[start], after[start])) start += 1;
      while (end < common - start && this.areEqual(before.at(-1 - end), after.at(-1 - end))) end += 1;
    }
    for (let index = start; index < common - end; index += 1)
      this.compare(before[index], after[index], below(path, index));
    // Each removal moves the next element to the same place.
    for (let index = common - end; index < before.length - end; index += 1)
      this.operations.push({ op: 'remove', path: below(path, common - end) });
    for (let index = common - end; index < after.length - end; index += 1)
      this.operations.push({ op: 'add', path: below(path, index), value: after[index] });
  }

  private areEqual(one: unknown, other: unknown): boolean {
    this.comparisons += 1;
    if (one === other || this.isOver()) return true;
    if (Array.isArray(one))
      return (
        Array.isArray(other) &&
        one.length === other.length &&
        one.every((value, index) => this.areEqual(value, other[index]))
      );
    if (!isObject(one) || !isObject(other)) return false;
    const keys = Object.keys(one);
    return (
      keys.length === Object.keys(other).length &&
      keys.every((key) => Object.hasOwn(other, key) && this.areEqual(one[key], other[key]))
    );
  }
}

function below(path: string, key: string | number): string {
  return `${path}/${String(key).replaceAll('~', '~0').replaceAll('/', '~1')}`;
}
