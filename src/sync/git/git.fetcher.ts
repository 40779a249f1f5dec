import { posix } from 'node:path';
import { Inject, Injectable } from '@nestjs/common';
import type { ConfigType } from '@nestjs/config';
import { adminSourcesConfig, limitsConfig, outboundConfig } from '../../config/slices.js';
import { KINDS, type SettingsOf } from '../../source-kinds/kinds.js';
import type { LeasedSource } from '../../sources/source-leases.queries.js';
import { type Fetched, Fetcher, type FetchState } from '../fetcher.js';
import { maxFileBytes } from '../file/local-file.js';
import { SourceFiles } from '../file/source-files.js';
import type { MemoryShare } from '../read-memory.js';
import { LIMITS } from '../../git/git-command.js';
import { GitConnections, removeGitLeftovers } from '../../git/git-connection.js';
import { GitRemote } from '../../git/git-remote.js';

const CLEANUP_INTERVAL_MS = 10 * 60_000;

/** Fetches sources of kind git. Fetches only one file from the repository. */
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
    memory: MemoryShare,
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
    try {
      return await read(remote, settings, state, memory);
    } finally {
      await remote.close();
    }
  }

  // The directory of a killed server may contain a password. It is removed once it is certain to be unused, which may
  // be long after this server has started.
  private async cleanUp(): Promise<void> {
    if (performance.now() - this.cleanedUpAt < CLEANUP_INTERVAL_MS) return;
    this.cleanedUpAt = performance.now();
    await removeGitLeftovers();
  }
}

/** Reads the commit id, the blob id and the content in turn, and stops at the first unchanged id. */
async function read(
  remote: GitRemote,
  settings: SettingsOf<'git'>,
  state: FetchState | null,
  memory: MemoryShare,
): Promise<Fetched> {
  if (settings.commit === undefined && (await remote.remoteCommit(settings)) === state?.['commit'])
    return { kind: 'unchanged', state };
  const commit = await remote.fetchCommit(settings);
  const blob = await remote.find(commit, posix.normalize(settings.path ?? KINDS.git.defaults.path));
  const found = { commit, blob: blob.id };
  if (state?.['blob'] === blob.id) return { kind: 'unchanged', state: found };
  return { kind: 'file', ...(await remote.read(blob, memory)), state: found };
}
