import { setMaxListeners } from 'node:events';
import { Logger } from '@nestjs/common';
import { DataSource } from 'typeorm';
import { canonicalClaims } from '../claims/claims.js';
import { isDatabaseUnreachable } from '../database/unreachable.js';
import { EntryWriter, type LabeledVersion } from '../entries/writer/entry-writer.js';
import { passesFilter } from '../sources/filter/entry-filter.js';
import type { AdminNamespaces } from '../sources/admin-limits/admin-namespaces.js';
import type { WatchedSource } from '../sources/leased-source.js';
import type { SkippedEntry } from '../sources/source.entity.js';
import { SourceLeases } from '../sources/source-leases.queries.js';
import { bumpRevision } from '../sources/source-revision.queries.js';
import { SourceStates, type WatchState } from '../sources/source-states.queries.js';
import { TimeSlice } from '../json/time-slice.js';
import { SyncMetrics } from '../telemetry/sync-metrics.js';
import { parseDuration } from '../validation/duration.js';
import { Cluster } from './api-server/cluster.js';
import { backOffMs, pause } from './back-off.js';
import { type ExportedServer, readObject, type SkippedObject } from './read-object.js';
import { ResourceWatch } from './resource-watch.js';
import { type Resource, RESOURCES } from './resources.js';

/** Changes that come within this time are written together. */
const BATCH_MS = 100;
const DATABASE_RETRY_MS = 1_000;
const RELIST_INTERVAL = '1h';

type Outcome = ExportedServer | SkippedObject | { readonly outcome: 'filtered' };

/** What a watch of a source needs from the rest of the server. */
export interface WatchDependencies {
  readonly owner: string;
  readonly dataSource: DataSource;
  readonly leases: SourceLeases;
  readonly states: SourceStates;
  readonly writer: EntryWriter;
  readonly cluster: Cluster;
  readonly metrics: SyncMetrics;
  readonly namespaces: AdminNamespaces;
  /** How many different claims the entries of a source may carry. */
  readonly maxClaimSets: number;
}

/** What the watches of a source hold. */
interface CollectedObjects {
  /** The names of the objects whose claims are too many. */
  readonly beyondLimit: ReadonlySet<string>;
  readonly entries: LabeledVersion[];
  readonly counts: Record<'entries' | 'skipped' | 'filtered' | 'warnings', number>;
  readonly skipped: SkippedEntry[];
}

/**
 * Keeps the entries of one source equal to its cluster, from when everything has been listed once until it is stopped. What
 * can't be watched for a time keeps its entries; everything else goes on.
 */
export class SourceWatch {
  private readonly logger = new Logger('kubernetes');
  private readonly stopping = new AbortController();
  private readonly watches: readonly ResourceWatch<Outcome>[];
  /** Why it may not be watched, for as long as this server runs or its settings stay. */
  private readonly refusal: string | undefined;
  /** Entry names that may have to be written; null: all there are. */
  private dirty: Set<string> | null = null;
  private wake: () => void = () => undefined;
  /** Objects whose claims were too many when they were written last. */
  private beyondLimit: ReadonlySet<string> = new Set();
  private savedState = '';
  private writeError: string | null = null;
  private running: Promise<void> = Promise.resolve();

  constructor(
    readonly source: WatchedSource,
    private readonly dependencies: WatchDependencies,
  ) {
    const { namespaces = [], relistInterval = RELIST_INTERVAL } = source.settings;
    const watched = namespaces.length === 0 ? [null] : namespaces;
    const relistMs = parseDuration(relistInterval) ?? 0;
    const listener = {
      read: (resource: Resource, object: unknown) => this.read(resource, object),
      isSame,
      onChange: (names: readonly string[]) => this.mark(names),
      onStateChange: () => this.wake(),
      onInternalError: (error: unknown) => this.logInternalError(error),
    };
    this.refusal =
      source.origin === 'config' ? undefined : dependencies.namespaces.findRefusal(source.settings);
    const resources = this.refusal === undefined ? RESOURCES : [];
    this.watches = resources.flatMap((resource) =>
      watched.map(
        (namespace) => new ResourceWatch(resource, namespace, relistMs, dependencies.cluster, listener),
      ),
    );
  }

  /** Whether the entries are known to equal the cluster: every watch works, and all they brought is written. */
  get isCurrent(): boolean {
    return this.dirty?.size === 0 && this.state.status === 'complete';
  }

  start(): void {
    const { signal } = this.stopping;
    // Each watch has some; that is no leak.
    setMaxListeners(0, signal);
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
    const outcome = readObject(resource, object);
    if (outcome?.outcome !== 'entry' || this.source.filter === null) return outcome;
    const passes = passesFilter(this.source.filter, outcome.version.name, outcome.tags);
    return passes ? outcome : { outcome: 'filtered' };
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
          await pause(BATCH_MS, signal);
          if (signal.aborted || !(await this.flush())) return;
        }
        await this.saveState();
        failures = 0;
        if (!this.isDue) await woken;
      } catch (error) {
        if (!isDatabaseUnreachable(error)) {
          this.writeError = 'The entries could not be written; the log of the server has the cause';
          this.logInternalError(error);
          await this.saveState().catch(() => undefined);
        }
        // As soon as the database is reachable again, what has changed is written.
        await pause(isDatabaseUnreachable(error) ? DATABASE_RETRY_MS : backOffMs(++failures + 3), signal);
      }
    }
  }

  private get isDue(): boolean {
    return (
      this.refusal === undefined && this.dirty?.size !== 0 && this.watches.every(({ isListed }) => isListed)
    );
  }

  /** @returns false when the lease is lost, or the settings have changed: nothing was written. */
  private async flush(): Promise<boolean> {
    const { owner, leases, states, writer, metrics } = this.dependencies;
    const end = metrics.begin('kubernetes');
    const started = performance.now();
    const names = this.dirty;
    const later = new Set<string>();
    this.dirty = later;
    try {
      const { entries, skipped, counts: totals, beyondLimit } = await this.collect(names);
      const written = names && new Set([...names, ...this.beyondLimit, ...beyondLimit]);
      const counts = await leases.writeWhileHeld(owner, this.source, async (manager) => {
        const among =
          written && [...written].map((name) => ({ type: 'server' as const, name: entryName(name) }));
        const diff = await writer.replaceLabeled(manager, this.source.id, entries, among);
        if (diff.added + diff.changed + diff.removed > 0) await bumpRevision(manager, this.source.id);
        const report = { counts: { ...diff, ...totals }, skipped };
        const isHeld = await states.recordWatchWrite(manager, owner, this.source.id, report);
        return isHeld ? report.counts : null;
      });
      if (!counts) {
        end('superseded');
        return false;
      }
      const touched = names && new Set([...names].map(entryName));
      const newlySkipped = skipped.filter(({ name }) => name !== null && (touched?.has(name) ?? true));
      metrics.wrote('kubernetes', { ...counts, skipped: newlySkipped.length });
      end('complete');
      this.writeError = null;
      this.beyondLimit = beyondLimit;
      const ms = Math.round(performance.now() - started);
      this.logger.log({ source: this.source.name, ...counts, ms }, 'Source equals its cluster');
      return true;
    } catch (error) {
      end(isDatabaseUnreachable(error) ? 'cut_off' : 'failed');
      this.dirty = names && new Set([...names, ...later]);
      throw error;
    }
  }

  /** The entries of these names, or all of them; counts and skipped objects are always those of all. */
  private async collect(names: ReadonlySet<string> | null): Promise<CollectedObjects> {
    const slice = new TimeSlice();
    const winners = new Map<string, ResourceWatch<Outcome>>();
    const entries: LabeledVersion[] = [];
    const skipped: SkippedEntry[] = [];
    const counts = { entries: 0, skipped: 0, filtered: 0, warnings: 0 };
    const claimSets = new Set<string>();
    const beyondLimit = new Set<string>();
    for (const watch of this.watches)
      for (const [name, object] of [...watch.objects]) {
        await slice.pause();
        const winner = winners.get(name);
        if (object.outcome === 'filtered') counts.filtered += 1;
        else if (object.outcome === 'skipped') skipped.push(skippedEntry(object));
        else if (winner) skipped.push(skippedEntry(duplicate(watch.resource, name, object, winner.resource)));
        else if (!this.hasRoomFor(object, claimSets)) {
          winners.set(name, watch);
          beyondLimit.add(name);
          skipped.push(this.tooManyClaims(watch.resource, name, object));
        } else {
          winners.set(name, watch);
          counts.entries += 1;
          counts.warnings += object.warnings.length;
          if (names === null || names.has(name) || this.beyondLimit.has(name)) {
            entries.push(object);
            this.warn(watch.resource, name, object);
          }
        }
      }
    counts.skipped = skipped.length;
    return { entries, counts, skipped, beyondLimit };
  }

  /** contract §2, `claimSetsPerSource`: those that came first have their place. */
  private hasRoomFor({ claims }: ExportedServer, claimSets: Set<string>): boolean {
    const { maxClaimSets } = this.dependencies;
    const canonical = canonicalClaims(claims);
    if (claimSets.has(canonical)) return true;
    if (claimSets.size >= maxClaimSets) return false;
    claimSets.add(canonical);
    return true;
  }

  private tooManyClaims({ kind }: Resource, name: string, { version }: ExportedServer): SkippedEntry {
    const { maxClaimSets } = this.dependencies;
    const reasons = [
      `${kind} ${name}: the entries of a source may carry ${maxClaimSets} different claims, and others do already`,
    ];
    return { type: 'server', name: version.name, version: version.version, reasons };
  }

  private warn({ kind }: Resource, name: string, { warnings }: ExportedServer): void {
    if (warnings.length > 0)
      this.logger.warn(
        { source: this.source.name, kind, object: name, warnings },
        'Parts of an object are not served',
      );
  }

  private get state(): WatchState {
    if (this.refusal !== undefined) return { status: 'failed', error: this.refusal, attempts: 1 };
    const errors = [...new Set(this.watches.map(({ error }) => error).filter((error) => error !== null))];
    if (this.writeError !== null) errors.push(this.writeError);
    const attempts = Math.max(...this.watches.map(({ error, failures }) => (error === null ? 0 : failures)));
    if (errors.length > 0) return { status: 'failed', error: errors.join('; '), attempts };
    return { status: this.dirty === null ? 'syncing' : 'complete', error: null, attempts };
  }

  private async saveState(): Promise<void> {
    const { state } = this;
    const text = JSON.stringify(state);
    if (text === this.savedState) return;
    const { dataSource, owner, states } = this.dependencies;
    await states.saveWatchState(dataSource.manager, owner, this.source.id, state);
    const report = { source: this.source.name, ...state };
    if (state.status === 'failed')
      this.logger.warn(report, 'The cluster cannot be watched; the earlier entries stay');
    else this.logger.debug(report, 'Watching the cluster');
    this.savedState = text;
  }

  private logInternalError(error: unknown): void {
    this.logger.error({ source: this.source.name, err: error }, 'Watching a cluster failed');
  }
}

/** The name of the entry of an object, given as `namespace/name`. */
function entryName(name: string): string {
  return `com.toolhive.k8s.${name}`;
}

function skippedEntry({ name, version, reasons }: SkippedObject): SkippedEntry {
  return { type: 'server', name, version, reasons: [...reasons] };
}

// An entry has one claim set: versions of two objects must not share it.
function duplicate(
  { kind }: Resource,
  name: string,
  { version }: ExportedServer,
  winner: Resource,
): SkippedObject {
  const reasons = [`${kind} ${name}: there is a ${winner.kind} of this namespace and name, which counts`];
  return { outcome: 'skipped', name: version.name, version: version.version, reasons };
}

function isSame(one: Outcome | undefined, other: Outcome | undefined): boolean {
  if (one === undefined || other === undefined) return one === other;
  if (one.outcome === 'entry' && other.outcome === 'entry')
    return (
      one.version.digest.equals(other.version.digest) &&
      canonicalClaims(one.claims) === canonicalClaims(other.claims)
    );
  return JSON.stringify(one) === JSON.stringify(other);
}
