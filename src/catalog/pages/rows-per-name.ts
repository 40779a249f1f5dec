import type { EntryType } from '../../documents/entry-types.js';
import type { ListFilter } from './list-request.js';
import type { FoundVersion } from './version-row.js';

/** Part of the difference by which the expectation rises with a page. */
const RISE = 0.1;

/**
 * How many rows the names of a list have, from the pages that were read before: a page of names with many versions need not go over
 * as many names as it has rows. An expectation that is too high costs another statement, one that is too low next to nothing: it
 * rises slowly, and falls at once.
 */
export class RowsPerName {
  private readonly byKind = new Map<string, number>();

  expected(type: EntryType, filter: ListFilter): number {
    return this.byKind.get(kindOf(type, filter)) ?? 1;
  }

  /** @param found rows of a page in their order. */
  observe(type: EntryType, filter: ListFilter, found: readonly FoundVersion[]): void {
    // The last name may go on.
    const names = new Set(found.map(({ name }) => name)).size - 1;
    if (names < 1) return;
    const rows = found.findLastIndex(({ name }) => name !== found.at(-1)?.name) + 1;
    const before = this.expected(type, filter);
    const observed = rows / names;
    const expected = observed < before ? observed : before + RISE * (observed - before);
    this.byKind.set(kindOf(type, filter), Math.max(1, expected));
  }
}

// As many as there are types, with and without older and deleted versions.
function kindOf(type: EntryType, { version, includeDeleted = false }: ListFilter): string {
  return `${type} ${version === 'latest'} ${includeDeleted}`;
}
