import { Injectable } from '@nestjs/common';
import type { Caller } from '../auth/caller.js';
import { type NamesPage, ViewNames } from '../catalog/view-names.queries.js';
import type { EntryName } from '../documents/entry-types.js';
import type { WebhookView } from '../config/config.js';
import { RegistriesRepository } from '../registries/registries.repository.js';
import { RegistryViews } from '../visibility/registry-views.js';
import { KnownEntries } from './known-entries.queries.js';

/** Maximum number of names in memory, and per statement. */
const NAMES = 20_000;
const [MIN_PAGE, MAX_PAGE] = [100, 2_000];
/** Number of differences after which a comparison pauses until they are delivered. */
const MAX_DIFFERENCES = 1_000;

/** The entries of one view, and the claims required to see them. */
export interface ReadView {
  readonly as: WebhookView;
  readonly caller: Caller;
}

/** A shown entry and the sources that provide it, at most one per registry. */
export interface ShownEntry {
  readonly entry: EntryName;
  readonly sources: ReadonlySet<string>;
}

export interface ViewDifferences {
  readonly added: readonly EntryName[];
  readonly removed: readonly EntryName[];
  /** The last name that was compared; null if all were. */
  readonly reached: EntryName | null;
}

export const keyOf = ({ type, name }: { readonly type: string; readonly name: string }) => `${type}/${name}`;

/**
 * Compares the entries of a view with the entries that a receiver knows, using the code that serves requests. Whole
 * views may be larger than memory, so they are read by name in parts of limited size.
 */
@Injectable()
export class ViewComparison {
  constructor(
    private readonly known: KnownEntries,
    private readonly names: ViewNames,
    private readonly views: RegistryViews,
    private readonly registries: RegistriesRepository,
  ) {}

  /** Returns which of these entries are in the view, by key. */
  async shown({ as, caller }: ReadView, asked: readonly EntryName[]): Promise<Map<string, ShownEntry>> {
    const found = new Map<string, { entry: EntryName; sources: Set<string> }>();
    if (asked.length === 0) return found;
    for (const registry of await this.registriesOf(as))
      for (const { source, ...entry } of await this.names.among(
        () => this.views.viewOf(caller, registry),
        asked,
      )) {
        const key = keyOf(entry);
        const one = found.get(key) ?? { entry, sources: new Set() };
        found.set(key, one);
        one.sources.add(source);
      }
    return found;
  }

  /** Compares the names after this one, or all names, until there are many differences. */
  async differences(id: number, { as, caller }: ReadView, after: EntryName | null): Promise<ViewDifferences> {
    const registries = await this.registriesOf(as);
    const limit = Math.min(Math.max(Math.floor(NAMES / (registries.length + 1)), MIN_PAGE), MAX_PAGE);
    const known = new NameStream((from) => this.known.after(id, from, limit), after);
    const shown = registries.map(
      (registry) =>
        new NameStream(
          (from) => this.names.after(() => this.views.viewOf(caller, registry), from, limit),
          after,
        ),
    );
    const [added, removed]: [EntryName[], EntryName[]] = [[], []];
    let reached: EntryName | null;
    do {
      for (const stream of [known, ...shown]) await stream.fill();
      reached = earliest([known, ...shown].map(({ last }) => last));
      const before = keyed(known.takeUntil(reached));
      const now = keyed(shown.flatMap((stream) => stream.takeUntil(reached)));
      for (const [key, entry] of now) if (!before.has(key)) added.push(entry);
      for (const [key, entry] of before) if (!now.has(key)) removed.push(entry);
    } while (reached !== null && added.length + removed.length < MAX_DIFFERENCES);
    return { added, removed, reached };
  }

  private async registriesOf({ registry }: WebhookView): Promise<string[]> {
    return registry === null ? (await this.registries.rows()).map(({ name }) => name) : [registry];
  }
}

/** Names in order, read page by page. */
class NameStream {
  private page: NamesPage<EntryName> | undefined;
  private taken = 0;

  constructor(
    private readonly read: (after: EntryName | null) => Promise<NamesPage<EntryName>>,
    private readonly start: EntryName | null,
  ) {}

  /** The last name that was read; null if all were. */
  get last(): EntryName | null {
    return this.page ? this.page.last : this.start;
  }

  async fill(): Promise<void> {
    if (this.page && (this.page.last === null || this.taken < this.page.names.length)) return;
    this.page = await this.read(this.last);
    this.taken = 0;
  }

  /** Takes the names up to this one; null for all. */
  takeUntil(end: EntryName | null): EntryName[] {
    const names = this.page?.names ?? [];
    const from = this.taken;
    const isWanted = (name: EntryName | undefined) =>
      name !== undefined && (end === null || !isAfter(name, end));
    while (isWanted(names[this.taken])) this.taken += 1;
    return names.slice(from, this.taken).map(({ type, name }) => ({ type, name }));
  }
}

function keyed(names: readonly EntryName[]): Map<string, EntryName> {
  return new Map(names.map((entry) => [keyOf(entry), entry]));
}

function earliest(names: readonly (EntryName | null)[]): EntryName | null {
  return names.reduce((first, name) => (!first || (name && isAfter(first, name)) ? name : first), null);
}

// The database orders by bytes. Names are ASCII, so code units have the same order.
function isAfter(one: EntryName, other: EntryName): boolean {
  return one.type === other.type ? one.name > other.name : one.type > other.type;
}
