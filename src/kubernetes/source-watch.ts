import { Logger } from '@nestjs/common';
import { DataSource } from 'typeorm';
import { canonicalClaims } from '../claims/claims.js';
import { isDatabaseUnreachable } from '../database/unreachable.js';
import { EntryWriter, type LabeledVersion } from '../entries/writer/entry-writer.js';
import { bumpRevision } from '../sources/source-revision.queries.js';
import { passesFilter } from '../sources/entry-filter.js';
import { TimeSlice } from '../json/time-slice.js';
import { SyncMetrics } from '../telemetry/sync-metrics.js';
import { backOffMs, pause } from './back-off.js';
import { Cluster } from './cluster.js';
import { type ExportedServer, readObject, type SkippedObject } from './read-object.js';
import { ResourceWatch } from './resource-watch.js';
import { type Resource, RESOURCES } from './resources.js';
import { type WatchedSource, type WatchOutcome, WatchQueries, type WatchState } from './watch.queries.js';

/** Changes that come together are written together. */
const GATHER_MS = 100;
const RETRY_MS = 1_000;

type Outcome = ExportedServer | SkippedObject | { readonly outcome: 'filtered' };

/** What a watch of a source needs from the rest of the server. */
export interface Surroundings {
  readonly owner: string;
  readonly dataSource: DataSource;
  readonly queries: WatchQueries;
  readonly writer: EntryWriter;
  readonly cluster: Cluster;
  readonly metrics: SyncMetrics;
}

/**
 * Keeps the entries of one source as its cluster is, from the moment everything has been listed once until it is stopped.
 * What can't be watched for a time keeps its entries; everything else goes on.
 */
export class SourceWatch {
  private readonly logger = new Logger('kubernetes');
  private readonly stopping = new AbortController();
  private readonly watches: readonly ResourceWatch<Outcome>[];
  /** Entry names that may have to be written; null: all there are. */
  private dirty: Set<string> | null = null;
  private wake: () => void = () => undefined;
  private told = '';
  private fault: string | null = null;
  private running: Promise<void> = Promise.resolve();

  constructor(
    readonly source: WatchedSource,
    private readonly around: Surroundings,
  ) {
    const { namespaces = [] } = source.settings;
    const places = namespaces.length === 0 ? [null] : namespaces;
    const listener = {
      read: (resource: Resource, object: unknown) => this.read(resource, object),
      same,
      changed: (names: readonly string[]) => this.mark(names),
      moved: () => this.wake(),
      broke: (error: unknown) => this.broke(error),
    };
    this.watches = RESOURCES.flatMap((resource) =>
      places.map((namespace) => new ResourceWatch(resource, namespace, around.cluster, listener)),
    );
  }

  /** Whether the entries are those of the cluster, as far as anybody can know. */
  get isHealthy(): boolean {
    return this.dirty?.size === 0 && this.state.status === 'complete';
  }

  start(): void {
    const { signal } = this.stopping;
    const watching = this.watches.map((watch) => watch.run(signal));
    this.running = Promise.all([this.write(signal), ...watching]).then(() => undefined);
  }

  /** Resolves when the last write has ended. */
  async stop(): Promise<void> {
    this.stopping.abort();
    this.wake();
    await this.running;
  }

  private read(resource: Resource, object: unknown): Outcome | null {
    const found = readObject(resource, object);
    if (found?.outcome !== 'entry' || this.source.filter === null) return found;
    const isTaken = passesFilter(this.source.filter, found.version.name, found.tags);
    return isTaken ? found : { outcome: 'filtered' };
  }

  private mark(names: readonly string[]): void {
    for (const name of names) this.dirty?.add(name);
    this.wake();
  }

  // One write after the other; what changes meanwhile is in the next.
  private async write(signal: AbortSignal): Promise<void> {
    let failures = 0;
    while (!signal.aborted) {
      const woken = new Promise<void>((resolve) => (this.wake = resolve));
      try {
        if (this.isDue) {
          await pause(GATHER_MS, signal);
          if (signal.aborted || !(await this.flush())) return;
        }
        await this.tell();
        failures = 0;
        if (!this.isDue) await woken;
      } catch (error) {
        if (!isDatabaseUnreachable(error)) {
          this.fault = 'The entries could not be written; the log of the server has the cause';
          this.broke(error);
          await this.tell().catch(() => undefined);
        }
        // A database that comes back is not kept waiting.
        await pause(isDatabaseUnreachable(error) ? RETRY_MS : backOffMs(++failures + 3), signal);
      }
    }
  }

  private get isDue(): boolean {
    return this.dirty?.size !== 0 && this.watches.every(({ isListed }) => isListed);
  }

  /** False when the source is no longer ours to write. */
  private async flush(): Promise<boolean> {
    const { owner, dataSource, queries, writer, metrics } = this.around;
    const end = metrics.begin('kubernetes');
    const started = performance.now();
    const names = this.dirty;
    const later = new Set<string>();
    this.dirty = later;
    try {
      const { entries, summary } = await this.gather(names);
      const counts = await dataSource.transaction(async (manager) => {
        if (!(await queries.lockForWrite(manager, owner, this.source))) return undefined;
        const among = names && [...names].map((name) => ({ type: 'server' as const, name: entryName(name) }));
        const written = await writer.replaceLabeled(manager, this.source.id, entries, among);
        if (written.added + written.changed + written.removed > 0)
          await bumpRevision(manager, this.source.id);
        const outcome = { ...summary, counts: { ...written, ...summary.counts } };
        if (!(await queries.complete(manager, owner, this.source.id, outcome)))
          throw new Error('The lease was lost while the changes were written');
        return outcome.counts;
      });
      if (!counts) {
        end('superseded');
        return false;
      }
      const touched = names && new Set([...names].map(entryName));
      const skipped = summary.skipped.filter(({ name }) => name !== null && (touched?.has(name) ?? true));
      metrics.wrote('kubernetes', { ...counts, skipped: skipped.length });
      end('complete');
      this.fault = null;
      const ms = Math.round(performance.now() - started);
      this.logger.log({ source: this.source.name, ...counts, ms }, 'Source follows the cluster');
      return true;
    } catch (error) {
      end(isDatabaseUnreachable(error) ? 'cut_off' : 'failed');
      this.dirty = names && new Set([...names, ...later]);
      throw error;
    }
  }

  /** The entries of these names, or all of them, and what is told of all objects. */
  private async gather(names: ReadonlySet<string> | null): Promise<{
    entries: LabeledVersion[];
    summary: { counts: Record<'entries' | 'skipped' | 'filtered' | 'warnings', number> } & Pick<
      WatchOutcome,
      'skipped'
    >;
  }> {
    const slice = new TimeSlice();
    const taken = new Map<string, ResourceWatch<Outcome>>();
    const entries: LabeledVersion[] = [];
    const skipped: WatchOutcome['skipped'][number][] = [];
    const counts = { entries: 0, skipped: 0, filtered: 0, warnings: 0 };
    for (const watch of this.watches)
      for (const [name, found] of [...watch.objects]) {
        await slice.pause();
        if (found.outcome === 'filtered') counts.filtered += 1;
        else if (found.outcome === 'skipped') skipped.push(told(found));
        else if (taken.has(name))
          skipped.push(told(hidden(watch.resource, name, found, taken.get(name)?.resource)));
        else {
          taken.set(name, watch);
          counts.entries += 1;
          counts.warnings += found.warnings.length;
          if (names === null || names.has(name)) {
            entries.push(found);
            this.warn(watch.resource, name, found);
          }
        }
      }
    counts.skipped = skipped.length;
    return { entries, summary: { counts, skipped } };
  }

  private warn({ kind }: Resource, name: string, { warnings }: ExportedServer): void {
    if (warnings.length > 0)
      this.logger.warn(
        { source: this.source.name, kind, object: name, warnings },
        'An object is served in part',
      );
  }

  private get state(): WatchState {
    const errors = [...new Set(this.watches.map(({ error }) => error).filter((error) => error !== null))];
    if (this.fault !== null) errors.push(this.fault);
    const attempts = Math.max(...this.watches.map(({ error, failures }) => (error === null ? 0 : failures)));
    if (errors.length > 0) return { status: 'failed', error: errors.join('; '), attempts };
    return { status: this.dirty === null ? 'syncing' : 'complete', error: null, attempts };
  }

  private async tell(): Promise<void> {
    const { state } = this;
    const text = JSON.stringify(state);
    if (text === this.told) return;
    await this.around.queries.tell(this.around.owner, this.source.id, state);
    const report = { source: this.source.name, ...state };
    if (state.status === 'failed')
      this.logger.warn(report, 'The cluster can not be watched; the earlier entries stay');
    else this.logger.debug(report, 'Watching the cluster');
    this.told = text;
  }

  private broke(error: unknown): void {
    this.logger.error({ source: this.source.name, err: error }, 'Watching a cluster failed');
  }
}

/** The name of the entry of an object, given as `namespace/name`. */
function entryName(name: string): string {
  return `com.toolhive.k8s.${name}`;
}

function told({ name, version, reasons }: SkippedObject): WatchOutcome['skipped'][number] {
  return { type: 'server', name, version, reasons };
}

// An entry has one claim set: versions of two objects must not share it.
function hidden(
  { kind }: Resource,
  name: string,
  { version }: ExportedServer,
  other: Resource | undefined,
): SkippedObject {
  const reasons = [
    `${kind} ${name}: there is a ${String(other?.kind)} of this namespace and name, which counts`,
  ];
  return { outcome: 'skipped', name: version.name, version: version.version, reasons };
}

function same(one: Outcome | undefined, other: Outcome | undefined): boolean {
  if (one === undefined || other === undefined) return one === other;
  if (one.outcome === 'entry' && other.outcome === 'entry')
    return (
      one.version.digest.equals(other.version.digest) &&
      canonicalClaims(one.claims) === canonicalClaims(other.claims)
    );
  return JSON.stringify(one) === JSON.stringify(other);
}
