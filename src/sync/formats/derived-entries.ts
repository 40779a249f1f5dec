import { entryMapKey, type EntryType, versionMapKey } from '../../documents/entry-types.js';
import { countKeys } from '../../json/json-text.js';
import type { StoredFilter } from '../../sources/entry-filter.js';
import { checkCandidate, type EntryValidator } from '../entry-validator.js';
import type { VersionFolder } from '../../content/version-folder.js';

/** Skills or plugins derived from a source. */
export const MAX_DERIVED = 10_000;

export const NAME_TAKEN = 'an earlier one has this name';

/** The location of a skill or plugin in its source. */
interface Place {
  readonly index: number;
  /** Shown before the reasons if the document is skipped. */
  readonly path?: string;
}

/**
 * Collects the documents derived from the skills or plugins of a source; if several have the same name, keeps only the
 * first.
 */
export class DerivedEntries {
  /** The folders of versions, by `versionMapKey`. */
  readonly folders = new Map<string, VersionFolder>();
  private readonly taken = new Set<string>();

  constructor(
    private readonly type: EntryType,
    private readonly validator: EntryValidator,
    private readonly filter: StoredFilter | null,
  ) {}

  add(place: Place, document: Record<string, unknown>, folder?: VersionFolder): void {
    const written = { text: JSON.stringify(document), keys: countKeys(document) };
    const candidate = { type: this.type, ...place, document, written, readProblem: null };
    const checked = checkCandidate(candidate, this.filter);
    const { version } = checked;
    if (version) {
      const key = entryMapKey(version);
      if (this.taken.has(key)) return this.skip(place, document, NAME_TAKEN);
      this.taken.add(key);
      if (folder && !checked.isFiltered) this.folders.set(versionMapKey(version), folder);
    }
    this.validator.collect(checked);
  }

  /** @param shown the name and version, as far as they are known. */
  skip(place: Place, shown: Readonly<Record<string, unknown>>, reason: string): void {
    this.validator.add({
      ...{ type: this.type, ...place, document: shown, written: { text: '', keys: 0 } },
      readProblem: { path: '', message: reason },
    });
  }
}
