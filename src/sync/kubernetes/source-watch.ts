import { randomUUID } from 'node:crypto';
import { setMaxListeners } from 'node:events';
import { Inject, Injectable, Logger } from '@nestjs/common';
import type { ConfigType } from '@nestjs/config';
import { DataSource } from 'typeorm';
import { AuditTrail } from '../../audit/audit-trail.js';
import type { WrittenEvent } from '../../audit/audit.queries.js';
import { limitsConfig } from '../../config/slices.js';
import { isDatabaseUnreachable, isStorageFull } from '../../database/database-errors.js';
import { BlockSweep } from '../../admission/block-sweep.queries.js';
import { EntryWriter, type WriteCounts } from '../../entries/writer/entry-writer.js';
import { KINDS } from '../../source-kinds/kinds.js';
import { AdminNamespaces } from '../../sources/admin-limits.js';
import { passesFilter } from '../../sources/entry-filter.js';
import { watchRetryInMs } from '../../sources/retry.js';
import { SourceLeases, type WatchedSource } from '../../sources/source-leases.queries.js';
import { SourceStates, type WatchState } from '../../sources/source-states.queries.js';
import { parseDuration } from '../../validation/value-checks.js';
import { SyncMetrics } from '../sync-metrics.js';
import { STORAGE_FULL } from '../sync-report.js';
import {
  type CollectedObjects,
  collectObjects,
  isSameOutcome,
  type ReadObject,
  RetainedEntries,
  withRefused,
} from './collected-objects.js';
import { describeCollection, type Resource, RESOURCES } from './custom-resources.js';
import { ENTRY_PREFIX, readObject } from './exported-object.js';
import { KubernetesClient } from './kubernetes-client.js';
import { pause, ResourceWatch } from './resource-watch.js';
import { StoredEntries } from './stored-entries.queries.js';

/** Maximum number of errors or collections to list; the others are only counted. */
const MAX_NAMED = 5;
/** Changes that arrive within this time are written together. */
const BATCH_MS = 100;
/** How long the first write waits for every list to complete or fail. */
const FIRST_WRITE_MS = 5_000;
const DATABASE_RETRY_MS = 1_000;

/** The state of a watch on one kind in one namespace, or in all namespaces (null). */
export interface WatchStatus {
  readonly resource: { readonly plural: string };
  readonly namespace: string | null;
  readonly isListed: boolean;
  readonly error: string | null;
  readonly failures: number;
}

/**
 * Derives the state of a source from its watches. The error lists the failing collections, unless all collections fail.
 *
 * @param writeError why the entries could not be written.
 * @param isWritten whether anything has been written yet.
 */
export function watchStateOf(
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

@Injectable()
export class WatchServices {
  /** Identifies this replica. */
  readonly owner = randomUUID();

  constructor(
    readonly dataSource: DataSource,
    readonly leases: SourceLeases,
    readonly states: SourceStates,
    readonly writer: EntryWriter,
    readonly blocks: BlockSweep,
    readonly stored: StoredEntries,
    readonly client: KubernetesClient,
    readonly metrics: SyncMetrics,
    readonly namespaces: AdminNamespaces,
    readonly audit: AuditTrail,
    @Inject(limitsConfig.KEY) readonly limits: ConfigType<typeof limitsConfig>,
  ) {}
}

type Watch = ResourceWatch<ReadObject>;

/**
 * Keeps the entries of one source in sync with its cluster until it is stopped. Entries of kinds and namespaces that
 * cannot be listed or watched stay unchanged; all others are updated.
 */
export class SourceWatch {
  private readonly logger = new Logger('kubernetes');
  private readonly stopping = new AbortController();
  private readonly watches: readonly Watch[];
  /** Why the current settings are not allowed; undefined if they are. */
  private readonly refusal: string | undefined;
  /** Names of the objects to write; null for all objects. */
  private dirty: Set<string> | null = null;
  private wake: () => void = () => undefined;
  /** Objects that exceeded the claim set limit at the last write. */
  private beyondLimit: ReadonlySet<string> = new Set();
  private retained = RetainedEntries.none<Watch>();
  private hasWaited = false;
  private savedState = '';
  private writeError: string | null = null;
  private running: Promise<void> = Promise.resolve();

  constructor(
    readonly source: WatchedSource,
    private readonly services: WatchServices,
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
    this.refusal = source.origin === 'config' ? undefined : services.namespaces.findRefusal(source);
    const resources = this.refusal === undefined ? RESOURCES : [];
    this.watches = resources.flatMap((resource) =>
      watched.map((namespace) => new ResourceWatch(resource, namespace, relistMs, services.client, listener)),
    );
  }

  /** Whether every watch works and all changes have been written. */
  get isCurrent(): boolean {
    return this.dirty?.size === 0 && this.state.status === 'complete';
  }

  start(): void {
    const { signal } = this.stopping;
    // Each watch adds listeners; disables Node's warning about a possible leak.
    setMaxListeners(0, signal);
    const watching = this.watches.map((watch) => watch.run(signal));
    const waiting = pause(FIRST_WRITE_MS, signal).then(() => {
      this.hasWaited = true;
      this.wake();
    });
    this.running = Promise.all([this.write(signal), waiting, ...watching]).then(() => undefined);
  }

  /** Stops watching; resolves when the last write has ended. */
  async stop(): Promise<void> {
    this.stopping.abort();
    this.wake();
    await this.running;
  }

  private read(resource: Resource, object: unknown): ReadObject | null {
    const outcome = readObject(resource, object);
    if (outcome?.outcome !== 'entry' || this.source.filter === null) return outcome;
    const passes = passesFilter(this.source.filter, outcome.version.name, outcome.tags);
    return passes ? outcome : { outcome: 'filtered' };
  }

  private mark(names: readonly string[]): void {
    for (const name of names) this.dirty?.add(name);
    this.wake();
  }

  // Changes that arrive during a write are included in the next write.
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
          this.writeError = isStorageFull(error)
            ? STORAGE_FULL
            : 'The entries could not be written; the log has the cause';
          this.logInternalError(error);
          await this.saveState().catch(() => undefined);
        }
        await pause(
          isDatabaseUnreachable(error) ? DATABASE_RETRY_MS : watchRetryInMs(++failures + 4),
          signal,
        );
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

  /** @returns false if nothing was written because the lease was lost or the settings have changed. */
  private async flush(): Promise<boolean> {
    const { owner, leases, states, writer, blocks, stored, metrics, audit } = this.services;
    const end = metrics.begin('kubernetes');
    const started = performance.now();
    const names = this.dirty;
    const later = new Set<string>();
    this.dirty = later;
    try {
      const unlisted = new Set(this.watches.filter(({ isListed }) => !isListed));
      if (names === null) this.retained = await RetainedEntries.load(stored, this.source, [...unlisted]);
      let collected = await this.collect(names, unlisted);
      const { entries, beyondLimit, retained } = collected;
      const written = names && [...new Set([...names, ...this.beyondLimit, ...beyondLimit])];
      const scope = {
        only: written?.filter((name) => !retained.has(name)).map(entryOf) ?? null,
        except: [...retained].map(entryOf),
      };
      let events: WrittenEvent[] = [];
      const counts = await leases.writeWhileHeld(owner, this.source, async (manager, claimSetId) => {
        const wrote = await writer.replaceLabeled(manager, this.source.id, entries, scope);
        const diff = wrote.counts;
        collected = withRefused(collected, wrote.refused);
        events = await audit.writeSync(manager, this.source.name, claimSetId, diff);
        const report = {
          counts: { ...diff, ...collected.counts, held: wrote.held },
          skipped: collected.skipped,
        };
        const isHeld = await states.recordWatchWrite(
          manager,
          owner,
          this.source.id,
          report,
          unlisted.size === 0,
        );
        if (!isHeld) return null;
        await blocks.settle(manager, [this.source.id], wrote.blocks);
        return report.counts;
      });
      if (!counts) {
        end('superseded');
        return false;
      }
      end('complete');
      audit.report(events);
      this.writeError = null;
      this.beyondLimit = collected.beyondLimit;
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
    const mustWrite = (name: string) => names === null || names.has(name) || this.beyondLimit.has(name);
    return collectObjects(known, mustWrite, this.services.limits.claimSetsPerSource);
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
    this.services.metrics.wrote('kubernetes', { ...counts, skipped: newlySkipped.length });
    for (const warning of warnings)
      this.logger.warn({ source, ...warning }, 'Invalid annotations of an object are ignored or shortened');
    if (unlisted === 0) this.logger.log({ source, ...counts, ms }, 'Cluster synced');
    else
      this.logger.log(
        { source, ...counts, unlisted, ms },
        'Cluster synced without the kinds that cannot be listed',
      );
  }

  private get state(): WatchState {
    if (this.refusal !== undefined) return { status: 'failed', error: this.refusal, attempts: 1 };
    return watchStateOf(this.watches, this.writeError, this.dirty !== null);
  }

  private async saveState(): Promise<void> {
    const { state } = this;
    const text = JSON.stringify(state);
    if (text === this.savedState) return;
    const { dataSource, owner, states } = this.services;
    await states.saveWatchState(dataSource.manager, owner, this.source.id, state);
    const report = { source: this.source.name, ...state };
    if (state.status === 'failed')
      this.logger.warn(report, 'Parts of the cluster cannot be watched; their stored entries stay');
    else this.logger.debug(report, 'Watching the cluster');
    this.savedState = text;
  }

  private logInternalError(error: unknown): void {
    this.logger.error({ source: this.source.name, err: error }, 'Watching a cluster failed');
  }
}

/** @param name `namespace/name` of the object. */
function entryOf(name: string): { type: 'server'; name: string } {
  return { type: 'server', name: ENTRY_PREFIX + name };
}
