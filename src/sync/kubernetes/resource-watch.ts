import { member } from '../../json/json-values.js';
import { TimeSlice } from '../../json/time-slice.js';
import { ClusterError } from './cluster-error.js';
import type { Cluster } from './cluster.js';
import {
  API_VERSIONS,
  collectionOf,
  isEarlierVersion,
  type Resource,
  type ResourceCollection,
} from './custom-resources.js';
import { listObjects, readNewestVersion, statusError, type WatchEvent, watchEvents } from './object-list.js';

const FIRST_MS = 100;
/** For about a minute: whatever restarts is back by then, and its changes are waiting. */
const EARLY_FAILURES = 20;
const EARLY_MAX_MS = 5_000;
const MAX_MS = 30_000;

/** Exponential, with jitter: between half and all of the time, so that replicas and watches spread out. */
export function backOffMs(failures: number, random = Math.random()): number {
  const longest = failures < EARLY_FAILURES ? EARLY_MAX_MS : MAX_MS;
  const maxMs = Math.min(longest, FIRST_MS * 2 ** Math.min(failures, EARLY_FAILURES));
  return maxMs / 2 + (random * maxMs) / 2;
}

/** Resolves after the time or as soon as the signal aborts. */
export function pause(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) return resolve();
    const end = () => {
      clearTimeout(timer);
      signal.removeEventListener('abort', end);
      resolve();
    };
    const timer = setTimeout(end, ms);
    signal.addEventListener('abort', end, { once: true });
  });
}

/**
 * The API server ends a watch after about this time; spread, so that not all are renewed at once. It asks what the account
 * may do when a watch begins only, so this is how long a right that was taken away goes unnoticed.
 */
const WATCH_S = 30;
const WATCH_SPREAD_S = 20;
/** A watch is over at its time, bookmark and all, or its connection is dead. */
const OVERTIME_MS = 10_000;
/** One that ends earlier than this before its time was ended by something else. */
const PUNCTUAL_MS = 2_000;
/** How often it is checked whether a kind is installed by now. */
const NOT_INSTALLED_MS = 10_000;
/** A watch that lasted this long was no failure, however it ended. */
const STABLE_MS = 5_000;
/** The longest pause before a watch that had begun is continued: changes are waiting. */
const MAX_RECONNECT_MS = 500;
/** An API server that has just started asks to come again (429) for seconds. Only what lasts longer is a failure. */
const THROTTLED_MS = 30_000;
const RETRY_AFTER_MS = 1_000;
const MAX_RETRY_AFTER_MS = 5_000;
/** Lists in a row that were not read whole before their place in the history was gone. */
const MAX_EXPIRED = 3;
const INTERNAL_ERROR = 'The watch failed inside the server; its log has the cause';
const NOT_FOUND = 404;
const GONE = 410;
const TOO_MANY_REQUESTS = 429;

/** What a watch of one kind, in one namespace or all of them, asks and reports. */
export interface WatchListener<T> {
  /** What becomes of an object; null when it is not exported. */
  read(resource: Resource, object: unknown): T | null;
  isSame(one: T | undefined, other: T | undefined): boolean;
  /** The objects of these names have changed, come or gone. */
  onChange(names: readonly string[]): void;
  /** `error`, `failures` or `isListed` has changed. */
  onStateChange(): void;
  /** Something inside the server has failed; it is tried again like a failure of the cluster. */
  onInternalError(error: unknown): void;
}

/**
 * Mirrors the objects of one kind in one namespace, or in all of them: a list in pages, then a watch from its resource
 * version on. A watch that ends or breaks goes on after its last whole event; one whose resource version is too old (410
 * Gone), or newer than what the cluster has (its etcd was restored), begins with a list again, and so does each from time
 * to time. The mirror stays as it was while the cluster is not reachable.
 */
export class ResourceWatch<T> {
  /** By `namespace/name`. */
  readonly objects = new Map<string, T>();
  /** Whether the objects have been listed whole at least once. */
  isListed = false;
  error: string | null = null;
  /** In a row. */
  failures = 0;
  private resourceVersion: string | null = null;
  private apiVersion: string = API_VERSIONS[0];
  /** When everything is listed again, whatever happens. */
  private relistAt = 0;
  /** Whether something else than its time has ended the last watch. */
  private hasBroken = false;
  /** Since when the API server has been asking to come again. */
  private throttledSince: number | null = null;

  constructor(
    readonly resource: Resource,
    readonly namespace: string | null,
    private readonly relistMs: number,
    private readonly cluster: Cluster,
    private readonly listener: WatchListener<T>,
  ) {}

  /** Goes on until the signal aborts. Never throws. */
  async run(signal: AbortSignal): Promise<void> {
    let shortWatches = 0;
    while (!signal.aborted) {
      const began = Date.now();
      try {
        if ((await this.mustList(signal)) && !(await this.list(signal))) {
          this.clearError();
          await pause(NOT_INSTALLED_MS / 2 + (Math.random() * NOT_INSTALLED_MS) / 2, signal);
          continue;
        }
        await this.follow(signal);
        const wasStable = Date.now() - began > STABLE_MS;
        if (wasStable) this.failures = 0;
        shortWatches = wasStable ? 0 : shortWatches + 1;
        await pause(Math.min(backOffMs(shortWatches), MAX_RECONNECT_MS), signal);
      } catch (error) {
        if (signal.aborted) return;
        this.hasBroken = true;
        await pause(this.handle(error), signal);
      }
    }
  }

  private async mustList(signal: AbortSignal): Promise<boolean> {
    if (this.resourceVersion === null || Date.now() >= this.relistAt) return true;
    if (!this.hasBroken) return false;
    // A watch from a version that is still to come says nothing, and looks healthy.
    const newest = await readNewestVersion(this.cluster, this.collection(this.apiVersion), signal);
    this.hasBroken = false;
    return isEarlierVersion(newest, this.resourceVersion);
  }

  /** @returns false when the kind is not installed; otherwise all its objects have been listed. */
  private async list(signal: AbortSignal): Promise<boolean> {
    for (const version of API_VERSIONS) {
      try {
        await this.listAs(version, signal);
        return true;
      } catch (error) {
        if (!(error instanceof ClusterError && error.status === NOT_FOUND)) throw error;
      }
    }
    this.resourceVersion = null;
    this.replaceAll(new Map());
    return false;
  }

  private async listAs(version: string, signal: AbortSignal): Promise<void> {
    const slice = new TimeSlice();
    const listed = new Map<string, T>();
    let resourceVersion: string | null = null;
    for await (const page of listObjects(this.cluster, this.collection(version), signal)) {
      for (const object of page.items) {
        const outcome = this.listener.read(this.resource, object);
        if (outcome !== null) listed.set(nameOf(object), outcome);
        await slice.pause();
      }
      ({ resourceVersion } = page);
    }
    this.apiVersion = version;
    this.resourceVersion = resourceVersion;
    this.hasBroken = false;
    this.throttledSince = null;
    this.relistAt = Date.now() + this.relistMs * (1 + Math.random() / 10);
    this.replaceAll(listed);
  }

  private async follow(signal: AbortSignal): Promise<void> {
    const collection = this.collection(this.apiVersion);
    const seconds = this.watchSeconds();
    const query = {
      allowWatchBookmarks: 'true',
      resourceVersion: this.resourceVersion ?? '',
      timeoutSeconds: String(seconds),
    };
    const body = await this.cluster.watch(collection, query, signal, seconds * 1_000 + OVERTIME_MS);
    const endsAt = Date.now() + seconds * 1_000;
    this.throttledSince = null;
    this.clearError();
    const events = watchEvents(collection, body as AsyncIterable<Buffer>);
    try {
      for (;;) {
        // A connection that breaks is no failure: its successor goes on after the last whole event.
        const event = await events.next().catch((error: unknown) => {
          if (error instanceof ClusterError) throw error;
          return null;
        });
        if (event === null || event.done) {
          this.hasBroken = event === null || Date.now() < endsAt - PUNCTUAL_MS;
          return;
        }
        this.apply(collection, event.value);
      }
    } finally {
      body.destroy();
    }
  }

  private watchSeconds(): number {
    const untilRelisted = Math.ceil((this.relistAt - Date.now()) / 1_000);
    return Math.max(1, Math.min(Math.round(WATCH_S + Math.random() * WATCH_SPREAD_S), untilRelisted));
  }

  private apply(collection: ResourceCollection, { type, object }: WatchEvent): void {
    const resourceVersion = member(member(object, 'metadata'), 'resourceVersion');
    switch (type) {
      case 'ADDED':
      case 'MODIFIED':
        this.put(nameOf(object), this.listener.read(this.resource, object) ?? undefined);
        this.failures = 0;
        break;
      case 'DELETED':
        this.put(nameOf(object), undefined);
        this.failures = 0;
        break;
      case 'BOOKMARK':
        break;
      case 'ERROR':
        throw statusError(collection, object);
      default:
        return;
    }
    if (typeof resourceVersion === 'string') this.resourceVersion = resourceVersion;
  }

  private put(name: string, outcome: T | undefined): void {
    const before = this.objects.get(name);
    if (outcome === undefined) this.objects.delete(name);
    else this.objects.set(name, outcome);
    if (!this.listener.isSame(before, outcome)) this.listener.onChange([name]);
  }

  private replaceAll(listed: ReadonlyMap<string, T>): void {
    const names = new Set([...this.objects.keys(), ...listed.keys()]);
    const changed = [...names].filter(
      (name) => !this.listener.isSame(this.objects.get(name), listed.get(name)),
    );
    this.objects.clear();
    for (const [name, outcome] of listed) this.objects.set(name, outcome);
    if (!this.isListed) {
      this.isListed = true;
      this.listener.onStateChange();
    }
    if (changed.length > 0) this.listener.onChange(changed);
  }

  /** @returns how long to wait before it is tried again. */
  private handle(error: unknown): number {
    const status = error instanceof ClusterError ? error.status : undefined;
    const askedMs = error instanceof ClusterError ? error.retryAfterMs : null;
    if (status === TOO_MANY_REQUESTS) {
      this.throttledSince ??= Date.now();
      const waitMs = Math.min(askedMs ?? RETRY_AFTER_MS, MAX_RETRY_AFTER_MS) * (1 + Math.random() / 4);
      if (Date.now() - this.throttledSince < THROTTLED_MS) return Math.max(waitMs, backOffMs(0));
    } else this.throttledSince = null;
    const waitMs = backOffMs(this.failures++);
    if (!(error instanceof ClusterError)) {
      this.resourceVersion = null;
      this.listener.onInternalError(error);
      this.fail(INTERNAL_ERROR);
    } else if (status === GONE || status === NOT_FOUND) {
      this.resourceVersion = null;
      if (this.failures > MAX_EXPIRED) this.fail(error.message);
    } else this.fail(error.message);
    return waitMs;
  }

  private fail(error: string): void {
    this.error = error;
    this.listener.onStateChange();
  }

  private clearError(): void {
    if (this.error === null) return;
    this.error = null;
    this.failures = 0;
    this.listener.onStateChange();
  }

  private collection(version: string): ResourceCollection {
    return collectionOf(this.resource, this.namespace, version);
  }
}

function nameOf(object: unknown): string {
  const metadata = member(object, 'metadata');
  return `${String(member(metadata, 'namespace'))}/${String(member(metadata, 'name'))}`;
}
