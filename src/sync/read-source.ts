import type { Origin, SourceConfig } from '../config/config.js';
import type { KeptFolders, SourceFolders } from '../content/source-folders.js';
import type { StoredFolder } from '../content/source-folders.queries.js';
import type { SyncedKind } from '../source-kinds/kinds.js';
import type { LeasedSource } from '../sources/source-leases.queries.js';
import type { FetchState } from './fetcher.js';
import type { Fetchers } from './fetchers.js';
import type { SourceContent } from './formats/source-content.js';
import type { FormatReaders } from './formats/format-readers.js';
import type { MemoryShare } from './read-memory.js';

interface Readers {
  readonly fetchers: Fetchers;
  readonly formats: FormatReaders;
  /** Stores the content of the source's repository; if absent, none is stored. */
  readonly folders?: SourceFolders;
}

/** The content of a source, and the part of it that is stored. */
type ReadSource = SourceContent & { readonly kept?: KeptFolders };

const NONE: ReadonlyMap<string, StoredFolder> = new Map();

/**
 * Fetches a source and reads it in its format.
 *
 * @param before the state of the last successful run; null for the first run.
 * @throws FetchError
 * @throws FormatError
 * @throws ReadMemoryError
 */
export async function readSource(
  { fetchers, formats, folders }: Readers,
  source: LeasedSource,
  before: FetchState | null,
  signal: AbortSignal,
  memory: MemoryShare,
): Promise<ReadSource> {
  const fetched = await fetchers.fetch(source, before, signal, memory);
  try {
    const known = fetched.kind === 'tree' && folders ? await folders.known(source.id) : NONE;
    const commits = new Map([...known].map(([key, { commit }]) => [key, commit]));
    const read = await formats.read(fetched, source, before, memory, signal, commits);
    if (read.kind === 'unchanged' || fetched.kind !== 'tree' || !folders) return read;
    const { content } = read;
    // New limits may leave room for content that was refused.
    const kept = await folders.keep(source.id, { ...content, tree: fetched.tree }, known, before === null);
    return { ...read, content: { ...content, entries: kept.entries }, kept };
  } finally {
    if (fetched.kind === 'tree') await fetched.tree.close();
  }
}

/**
 * Reads a source as its first sync would.
 *
 * @throws the errors of `readSource`.
 */
export async function readOnce(
  readers: Readers,
  source: LeasedSource,
  signal: AbortSignal,
  memory: MemoryShare,
): Promise<SourceContent & { kind: 'content' }> {
  const read = await readSource(readers, source, null, signal, memory);
  if (read.kind === 'unchanged') throw new Error('A source without a state has not changed');
  return read;
}

/** Returns a declared source in the form that its first sync would get. */
export function unsavedSource(
  { intervalMs, allowShrink, ...settings }: SourceConfig<SyncedKind>,
  origin: Origin,
): LeasedSource {
  return {
    ...settings,
    ...{ id: 0, claimSetId: 0, owner: '', fetchState: null, attempts: 1, isRequested: true },
    origin,
    intervalMs: intervalMs ?? 0,
    mayShrink: allowShrink,
  } as LeasedSource;
}
