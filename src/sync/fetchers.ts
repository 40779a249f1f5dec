import { Injectable } from '@nestjs/common';
import type { SourceKind } from '../config/config.js';
import type { Fetcher } from './fetcher.js';
import { ApiFetcher } from './mcp/api.fetcher.js';
import { FileFetcher } from './file/file.fetcher.js';
import { GitFetcher } from './git/git.fetcher.js';

/** The fetcher of each kind of source that is synced. A further kind is one more line. */
@Injectable()
export class Fetchers {
  private readonly byKind: Partial<Record<SourceKind, Fetcher>>;

  constructor(file: FileFetcher, git: GitFetcher, api: ApiFetcher) {
    this.byKind = { file, git, api };
  }

  /** @throws Error for a kind that is not synced: those are never leased. */
  of(kind: string): Fetcher {
    const fetcher = this.byKind[kind as SourceKind];
    if (!fetcher) throw new Error(`No fetcher for sources of kind ${kind}`);
    return fetcher;
  }
}
