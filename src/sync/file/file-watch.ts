import { stat } from 'node:fs/promises';
import { Injectable, Logger, type OnApplicationBootstrap, type OnApplicationShutdown } from '@nestjs/common';
import { Polling } from '../../database/polling.js';
import { DataSource } from 'typeorm';
import { SourceStates } from '../../sources/source-states.queries.js';
import { SyncQueries } from '../sync.queries.js';

const LOOK_MS = 400;
/** The list of files is asked for this often, in looks: sources come and go through the API. */
const LOOKS_PER_LIST = 5;

/**
 * Asks for a sync when a source's file has changed. Looks at the files again and again in place of watching them: that
 * sees atomic renames, the swapped links of a ConfigMap and network file systems alike.
 */
@Injectable()
export class FileWatch implements OnApplicationBootstrap, OnApplicationShutdown {
  private readonly logger = new Logger('sync');
  /** What each source's file looked like, by the id of the source and the path. */
  private seen = new Map<string, string>();
  private files: Awaited<ReturnType<SyncQueries['watchedFiles']>> = [];
  private looks = 0;
  private readonly polling = new Polling(() => this.look(), LOOK_MS, this.logger, {
    failed: 'Looking at the files of sources failed',
  });

  constructor(
    private readonly queries: SyncQueries,
    private readonly states: SourceStates,
    private readonly dataSource: DataSource,
  ) {}

  onApplicationBootstrap(): void {
    this.polling.begin();
  }

  async onApplicationShutdown(): Promise<void> {
    await this.polling.end();
  }

  private async look(): Promise<void> {
    if (this.looks % LOOKS_PER_LIST === 0) this.files = await this.queries.watchedFiles();
    this.looks += 1;
    const now = new Map<string, string>();
    for (const { id, path, lastAttemptAt } of this.files) {
      const key = `${id}:${path}`;
      const { state, changedAt } = await lookOf(path);
      now.set(key, state);
      const before = this.seen.get(key);
      // One that is seen for the first time may have changed since it was read.
      const isNews =
        before === undefined ? changedAt > (lastAttemptAt?.getTime() ?? Infinity) : before !== state;
      if (isNews && !this.polling.hasEnded) await this.states.request(this.dataSource.manager, id);
    }
    this.seen = now;
  }
}

async function lookOf(path: string): Promise<{ state: string; changedAt: number }> {
  const found = await stat(path, { bigint: true }).catch(() => undefined);
  if (!found) return { state: 'absent', changedAt: -Infinity };
  const { dev, ino, size, mtimeNs, ctimeNs, ctimeMs } = found;
  return { state: [dev, ino, size, mtimeNs, ctimeNs].join(':'), changedAt: Number(ctimeMs) };
}
