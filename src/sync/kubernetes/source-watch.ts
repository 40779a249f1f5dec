import { setMaxListeners } from 'node:events';
import { Logger } from '@nestjs/common';
import { DataSource } from 'typeorm';
import type { AuditTrail } from '../../audit/audit-trail.js';
import type { WrittenEvent } from '../../audit/audit.queries.js';
import { isDatabaseUnreachable } from '../../database/database-errors.js';
import { EntryWriter, type WriteCounts } from '../../entries/writer/entry-writer.js';
import { KINDS } from '../../source-kinds/kinds.js';
import type { AdminNamespaces } from '../../sources/admin-limits.js';
import { passesFilter } from '../../sources/entry-filter.js';
import { SourceLeases, type WatchedSource } from '../../sources/source-leases.queries.js';
import { bumpRevision } from '../../sources/source-registries.queries.js';
import { SourceStates, type WatchState } from '../../sources/source-states.queries.js';
import { SyncMetrics } from '../../telemetry/registry-metrics.js';
import { parseDuration } from '../../validation/value-checks.js';
import { Cluster } from './cluster.js';
import {
  type CollectedObjects,
  collectObjects,
  isSameOutcome,
  type Outcome,
  RetainedEntries,
} from './collected-objects.js';
import { describeCollection, type Resource, RESOURCES } from './custom-resources.js';
import { ENTRY_PREFIX, readObject } from './read-object.js';
import { backOffMs, pause, ResourceWatch } from './resource-watch.js';
import { StoredEntries } from './stored-entries.queries.js';

/** Errors and collections that are named one by one; the others are counted. */
const MAX_NAMED = 5;

/** How the watch of one kind is doing, in one namespace or in all of them (null). */
export interface WatchStatus {
  readonly resource: { readonly plural: string };
  readonly namespace: string | null;
  readonly isListed: boolean;
  readonly error: string | null;
  readonly failures: number;
}

/**
 * The state of a source from those of its watches. An error names the collections that are not current, unless none is.
 *
 * @param writeError why what they brought could not be written.
 * @param isWritten whether anything has been written yet.
 */
export function reportOf(
  watches: readonly WatchStatus[],
  writeError: string | null,
  isWritten: boolean,
): WatchState {
  const failing = watches.filter(({ error }) => error !== null);
  const attempts = Math.max(0, ...failing.map(({ failures }) => failures));
  const errors = [...new Set(failing.map(({ error }) => error ?? ''))];
  const isPartial = failing.length > 0 && failing.length < watches.length;
  const sentences = [
    ...named(errors, 'other errors'),
    ...(isPartial
      ? [
          `Not current: ${named(
            failing.map(({ resource: { plural }, namespace }) => describeCollection({ plural, namespace })),
            'others',
          ).join(', ')}`,
        ]
      : []),
    ...(writeError === null ? [] : [writeError]),
  ];
  if (sentences.length > 0) return { status: 'failed', error: sentences.join('; '), attempts };
  const isCurrent = isWritten && watches.every(({ isListed }) => isListed);
  return { status: isCurrent ? 'complete' : 'syncing', error: null, attempts };
}

function named(texts: readonly string[], others: string): string[] {
  const rest = texts.length - MAX_NAMED;
  return [...texts.slice(0, MAX_NAMED), ...(rest > 0 ? [`and ${rest} ${others}`] : [])];
}

/** Changes that come within this time are written together. */
const BATCH_MS = 100;
/** How long the first write waits for everything to be listed, or to fail: what is there then is written without the rest. */
const FIRST_WRITE_MS = 5_000;
const DATABASE_RETRY_MS = 1_000;

/** What a watch of a source needs from the rest of the server. */
export interface WatchDependencies {
  readonly owner: string;
  readonly dataSource: DataSource;
  readonly leases: SourceLeases;
  readonly states: SourceStates;
  readonly writer: EntryWriter;
  readonly stored: StoredEntries;
  readonly cluster: Cluster;
  readonly metrics: SyncMetrics;
  readonly namespaces: AdminNamespaces;
  readonly audit: AuditTrail;
  /** How many different claims the entries of a source may carry. */
  readonly maxClaimSets: number;
}

type Watch = ResourceWatch<Outcome>;

/**
 * Keeps the entries of one source equal to its cluster until it is stopped. What can't be listed, or watched for a time,
 * keeps its entries as they are stored; everything else goes on.
 */
export class SourceWatch {
  private readonly logger = new Logger('kubernetes');
  private readonly stopping = new AbortController();
  private readonly watches: readonly Watch[];
  /** Why it may not be watched, for as long as this server runs or its settings stay. */
  private readonly refusal: string | undefined;
  /** Names of objects whose entries may have to be written; null: all there are. */
  private dirty: Set<string> | null = null;
  private wake: () => void = () => undefined;
  /** Objects whose claims were too many when they were written last. */
  private beyondLimit: ReadonlySet<string> = new Set();
  private retained = RetainedEntries.none<Watch>();
  private hasWaited = false;
  private savedState = '';
  private writeError: string | null = null;
  private running: Promise<void> = Promise.resolve();

  constructor(
    readonly source: WatchedSource,
    private readonly dependencies: WatchDependencies,
  ) {
    const { namespaces = [], relistInterval = KINDS.kubernetes.defaults.relistInterval } = source.settings;
    const watched = namespaces.length === 0 ? [null] : namespaces;
    const relistMs = parseDuration(relistInterval) ?? 0;
    const listener = {
      read: (resource: Resource, object: unknown) => this.read(resource, object),
      isSame: isSameOutcome,
      onChange: (names: readonly string[]) => this.mark(names),
      onStateChange: () => this.wake(),
      onInternalError: (error: unknown) => this.logInternalError(error),
    };
    this.refusal = source.origin === 'config' ? undefined : dependencies.namespaces.findRefusal(source);
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
    const waiting = pause(FIRST_WRITE_MS, signal).then(() => {
      this.hasWaited = true;
      this.wake();
    });
    this.running = Promise.all([this.write(signal), waiting, ...watching]).then(() => undefined);
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
        if (this.isDue()) {
          await pause(BATCH_MS, signal);
          if (signal.aborted || !(await this.flush())) return;
        }
        await this.saveState();
        failures = 0;
        if (!this.isDue()) await woken;
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

  private isDue(): boolean {
    if (this.refusal !== undefined) return false;
    for (const watch of this.watches)
      if (watch.isListed) for (const name of this.retained.release(watch)) this.dirty?.add(name);
    if (this.dirty !== null) return this.dirty.size > 0;
    const isSettled = this.watches.every(({ isListed, error }) => isListed || error !== null);
    return (isSettled || this.hasWaited) && this.watches.some(({ isListed }) => isListed);
  }

  /** @returns false when the lease is lost, or the settings have changed: nothing was written. */
  private async flush(): Promise<boolean> {
    const { owner, leases, states, writer, stored, metrics, audit } = this.dependencies;
    const end = metrics.begin('kubernetes');
    const started = performance.now();
    const names = this.dirty;
    const later = new Set<string>();
    this.dirty = later;
    try {
      const unlisted = new Set(this.watches.filter(({ isListed }) => !isListed));
      if (names === null) this.retained = await RetainedEntries.load(stored, this.source, [...unlisted]);
      const collected = await this.collect(names, unlisted);
      const { entries, skipped, beyondLimit, retained } = collected;
      const written = names && [...new Set([...names, ...this.beyondLimit, ...beyondLimit])];
      const scope = {
        only: written?.filter((name) => !retained.has(name)).map(entryOf) ?? null,
        except: [...retained].map(entryOf),
      };
      let events: WrittenEvent[] = [];
      const counts = await leases.writeWhileHeld(owner, this.source, async (manager, claimSetId) => {
        const diff = await writer.replaceLabeled(manager, this.source.id, entries, scope);
        if (diff.added + diff.changed + diff.removed > 0) await bumpRevision(manager, this.source.id);
        events = await audit.writeSync(manager, this.source.name, claimSetId, diff);
        const report = { counts: { ...diff, ...collected.counts }, skipped };
        const isHeld = await states.recordWatchWrite(
          manager,
          owner,
          this.source.id,
          report,
          unlisted.size === 0,
        );
        return isHeld ? report.counts : null;
      });
      if (!counts) {
        end('superseded');
        return false;
      }
      end('complete');
      audit.report(events);
      this.writeError = null;
      this.beyondLimit = beyondLimit;
      this.retained.forget(collected.displaced);
      this.logWrite(names, collected, counts, unlisted.size, Math.round(performance.now() - started));
      return true;
    } catch (error) {
      end(isDatabaseUnreachable(error) ? 'cut_off' : 'failed');
      this.dirty = names && new Set([...names, ...later]);
      throw error;
    }
  }

  private collect(
    names: ReadonlySet<string> | null,
    unlisted: ReadonlySet<Watch>,
  ): Promise<CollectedObjects> {
    const known = this.watches.map((watch) => ({
      resource: watch.resource,
      objects: unlisted.has(watch) ? this.retained.of(watch) : watch.objects,
    }));
    const isAsked = (name: string) => names === null || names.has(name) || this.beyondLimit.has(name);
    return collectObjects(known, isAsked, this.dependencies.maxClaimSets);
  }

  private logWrite(
    names: ReadonlySet<string> | null,
    { skipped, warnings }: CollectedObjects,
    counts: WriteCounts,
    unlisted: number,
    ms: number,
  ): void {
    const source = this.source.name;
    const touched = names && new Set([...names].map((name) => entryOf(name).name));
    const newlySkipped = skipped.filter(({ name }) => name !== null && (touched?.has(name) ?? true));
    this.dependencies.metrics.wrote('kubernetes', { ...counts, skipped: newlySkipped.length });
    for (const warning of warnings)
      this.logger.warn({ source, ...warning }, 'Parts of an object are not served');
    if (unlisted === 0) this.logger.log({ source, ...counts, ms }, 'Source equals its cluster');
    else
      this.logger.log(
        { source, ...counts, unlisted, ms },
        'Source equals what could be listed of its cluster',
      );
  }

  private get state(): WatchState {
    if (this.refusal !== undefined) return { status: 'failed', error: this.refusal, attempts: 1 };
    return reportOf(this.watches, this.writeError, this.dirty !== null);
  }

  private async saveState(): Promise<void> {
    const { state } = this;
    const text = JSON.stringify(state);
    if (text === this.savedState) return;
    const { dataSource, owner, states } = this.dependencies;
    await states.saveWatchState(dataSource.manager, owner, this.source.id, state);
    const report = { source: this.source.name, ...state };
    if (state.status === 'failed')
      this.logger.warn(report, 'Parts of the cluster cannot be watched; their earlier entries stay');
    else this.logger.debug(report, 'Watching the cluster');
    this.savedState = text;
  }

  private logInternalError(error: unknown): void {
    this.logger.error({ source: this.source.name, err: error }, 'Watching a cluster failed');
  }
}

/** The entry of an object, given as `namespace/name`. */
function entryOf(name: string): { type: 'server'; name: string } {
  return { type: 'server', name: ENTRY_PREFIX + name };
}
