import { Inject, Injectable } from '@nestjs/common';
import type { ConfigType } from '@nestjs/config';
import { adminSourcesConfig, limitsConfig, outboundConfig } from '../../config/slices.js';
import type { LeasedSource } from '../../sources/source-leases.queries.js';
import { type Fetched, Fetcher, type FetchState } from '../fetcher.js';
import { maxFileBytes } from '../file/local-file.js';
import { SourceFiles } from '../file/source-files.js';
import { LIMITS } from '../../git/git-command.js';
import { GitConnections, removeGitLeftovers } from '../../git/git-connection.js';
import { GitRemote } from '../../git/git-remote.js';
import { GitTree } from '../../git/git-tree.js';

const CLEANUP_INTERVAL_MS = 10 * 60_000;

/** Fetches commits of sources of kind git, without the contents of their files. */
@Injectable()
export class GitFetcher extends Fetcher<'git'> {
  private readonly connections: GitConnections;
  private cleanedUpAt = Number.NEGATIVE_INFINITY;

  constructor(
    @Inject(adminSourcesConfig.KEY) admin: ConfigType<typeof adminSourcesConfig>,
    files: SourceFiles,
    @Inject(limitsConfig.KEY) private readonly limits: ConfigType<typeof limitsConfig>,
    @Inject(outboundConfig.KEY) { proxy }: ConfigType<typeof outboundConfig>,
  ) {
    super();
    this.connections = new GitConnections(admin, files, undefined, proxy);
  }

  override async fetch(
    source: LeasedSource<'git'>,
    state: FetchState | null,
    signal: AbortSignal,
  ): Promise<Fetched> {
    const { settings } = source;
    // A commit never changes, and this commit has already been read.
    if (state && settings.commit !== undefined && state['commit'] === settings.commit)
      return { kind: 'unchanged', state };
    await this.cleanUp();
    const connection = await this.connections.connectionTo(source);
    const fileBytes = maxFileBytes(this.limits, source.origin);
    const diskBytes = Math.max(LIMITS.diskBytes, 4 * fileBytes);
    const remote = await GitRemote.open(connection, signal, { fileBytes, diskBytes });
    let tree: GitTree | undefined;
    try {
      if (settings.commit === undefined && (await remote.remoteCommit(settings)) === state?.['commit'])
        return { kind: 'unchanged', state };
      tree = await GitTree.fetch(remote, settings);
      return { kind: 'tree', tree, state: { commit: tree.commit } };
    } finally {
      if (!tree) await remote.close();
    }
  }

  // A directory left by a killed server may contain a password. It is removed once it is certain to be unused, which
  // may be long after this server has started.
  private async cleanUp(): Promise<void> {
    if (performance.now() - this.cleanedUpAt < CLEANUP_INTERVAL_MS) return;
    this.cleanedUpAt = performance.now();
    await removeGitLeftovers();
  }
}
