import { Injectable } from '@nestjs/common';
import { parseSourceKind, type SyncedKind } from '../source-kinds/kinds.js';
import type { LeasedSource } from '../sources/source-leases.queries.js';
import type { Fetched, Fetcher, FetchState } from './fetcher.js';
import { FileFetcher } from './file/file.fetcher.js';
import { GitFetcher } from './git/git.fetcher.js';
import type { MemoryShare } from './read-memory.js';
import { ApiFetcher } from './registry-api/api.fetcher.js';

/** Maps each synced kind to its fetcher; a missing fetcher is a compile-time error. */
@Injectable()
export class Fetchers {
  private readonly byKind: { readonly [K in SyncedKind]: Fetcher<K> };

  constructor(file: FileFetcher, git: GitFetcher, api: ApiFetcher) {
    this.byKind = { file, git, api };
  }

  /**
   * Calls the fetcher for the source's kind.
   *
   * @throws Error if this version does not support the kind stored in the database.
   */
  fetch<K extends SyncedKind>(
    source: LeasedSource<K>,
    state: FetchState | null,
    signal: AbortSignal,
    memory: MemoryShare,
  ): Promise<Fetched> {
    parseSourceKind(source.kind);
    return this.byKind[source.kind].fetch(source, state, signal, memory);
  }
}
