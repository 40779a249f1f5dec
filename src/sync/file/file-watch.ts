import { stat } from 'node:fs/promises';
import { Injectable, Logger } from '@nestjs/common';
import { DataSource } from 'typeorm';
import { Polling } from '../../database/polling.js';
import { SourceStates } from '../../sources/source-states.queries.js';
import { SyncQueries } from '../sync.queries.js';

const POLL_MS = 400;
/** The list of files is reloaded after this many polls, because sources can be added and removed through the API. */
const POLLS_PER_LIST = 5;

/**
 * Requests a sync when a source's file has changed. Polls the files, because file system events miss atomic renames,
 * changes to a ConfigMap's symbolic links, and changes on network file systems.
 */
@Injectable()
export class FileWatch extends Polling {
  /** The last fingerprint of each file, by source id and path. */
  private fingerprints = new Map<string, string>();
  private files: Awaited<ReturnType<SyncQueries['watchedFiles']>> = [];
  private polls = 0;

  constructor(
    private readonly queries: SyncQueries,
    private readonly states: SourceStates,
    private readonly dataSource: DataSource,
  ) {
    super(POLL_MS, new Logger('sync'), { failed: 'Polling the source files failed' });
  }

  protected async poll(): Promise<void> {
    if (this.polls % POLLS_PER_LIST === 0) this.files = await this.queries.watchedFiles();
    this.polls += 1;
    const now = new Map<string, string>();
    for (const { id, path, lastAttemptAt } of this.files) {
      const key = `${id}:${path}`;
      const { fingerprint, changedAt } = await inspect(path);
      now.set(key, fingerprint);
      const before = this.fingerprints.get(key);
      // The first poll has no earlier fingerprint, so it compares the file's change time with the last sync.
      const hasChanged =
        before === undefined ? changedAt > (lastAttemptAt?.getTime() ?? Infinity) : before !== fingerprint;
      if (hasChanged && !this.hasEnded) await this.states.request(this.dataSource.manager, id);
    }
    this.fingerprints = now;
  }
}

async function inspect(path: string): Promise<{ fingerprint: string; changedAt: number }> {
  const found = await stat(path, { bigint: true }).catch(() => undefined);
  if (!found) return { fingerprint: 'absent', changedAt: -Infinity };
  const { dev, ino, size, mtimeNs, ctimeNs, ctimeMs } = found;
  return { fingerprint: [dev, ino, size, mtimeNs, ctimeNs].join(':'), changedAt: Number(ctimeMs) };
}
