import { setTimeout } from 'node:timers/promises';
import { member } from '../../json/json-values.js';
import { pauseIfDue } from '../../limits/time-slice.js';
import { watchRetryInMs } from '../../sources/retry.js';
import { ClusterError } from './cluster-error.js';
import {
  API_VERSIONS,
  collectionOf,
  isEarlierVersion,
  type Resource,
  type ResourceCollection,
} from './custom-resources.js';
import { type KubernetesClient, type WatchEvent, watchError, watchEvents } from './kubernetes-client.js';

/** Objects per page. They have up to 1.5 MiB each, and parsing a page must not block the event loop. */
const PAGE = 10;
/**
 * Duration of a watch, before a random spread that prevents all watches from restarting simultaneously. The API server
 * checks permissions only when a watch begins, so a revoked permission can go unnoticed for this long.
 */
const WATCH_S = 30;
const WATCH_SPREAD_S = 20;
/** A watch is considered broken if it sends nothing for its entire duration plus this time. */
const IDLE_AFTER_END_MS = 10_000;
/** A watch is considered interrupted if it ends this much earlier than requested. */
const EARLY_END_MS = 2_000;
/** How often to check whether a missing kind has been installed. */
const NOT_INSTALLED_MS = 10_000;
/** A watch that lasts this long resets the failure count, even if it ends with an error. */
const STABLE_MS = 5_000;
/** The longest delay before an established watch is resumed. */
const MAX_RECONNECT_MS = 500;
/** An API server responds with 429 for some seconds while it starts; only a longer period counts as a failure. */
const THROTTLED_MS = 30_000;
const DEFAULT_RETRY_AFTER_MS = 1_000;
const MAX_RETRY_AFTER_MS = 5_000;
/** Up to this many consecutive lists may expire before completion without a failure being reported. */
const MAX_EXPIRED = 3;
const INTERNAL_ERROR = 'The watch failed because of an internal error: see the log for the cause';
const NOT_FOUND = 404;
const GONE = 410;
const TOO_MANY_REQUESTS = 429;

/** Waits for `ms`, or until the signal aborts. */
export function pause(ms: number, signal: AbortSignal): Promise<void> {
  return setTimeout(ms, undefined, { signal }).catch(() => undefined);
}

/** Receives the objects and the state of one watch. */
interface WatchListener<T> {
  /** Converts an object; returns null if it is not exported. */
  read(resource: Resource, object: unknown): T | null;
  isSame(before: T | undefined, after: T | undefined): boolean;
  /** Called when the objects with these names have been added, changed or removed. */
  onChange(names: readonly string[]): void;
  onStateChange(): void;
  /** Called after an error in this server; the watch is retried as after a cluster failure. */
  onInternalError(error: unknown): void;
}

/**
 * Mirrors the objects of one kind in one namespace or in all namespaces: lists them in pages, then watches from the
 * list's resource version. A watch that ends or breaks resumes after its last complete event. All objects are listed
 * again periodically, and whenever the resource version is too old (410 Gone) or ahead of the cluster (etcd was
 * restored). The mirror does not change while the cluster is unreachable.
 */
export class ResourceWatch<T> {
  /** The objects by `namespace/name`. */
  readonly objects = new Map<string, T>();
  /** Whether all objects have been listed at least once. */
  isListed = false;
  error: string | null = null;
  /** Number of consecutive failures. */
  failures = 0;
  private resourceVersion: string | null = null;
  private apiVersion: string = API_VERSIONS[0];
  /** Deadline for listing all objects again. */
  private relistAt = 0;
  /** Whether the last watch ended early. */
  private hasBroken = false;
  /** When the API server began to respond with 429; null if it currently does not. */
  private throttledSince: number | null = null;

  constructor(
    readonly resource: Resource,
    readonly namespace: string | null,
    private readonly relistMs: number,
    private readonly client: KubernetesClient,
    private readonly listener: WatchListener<T>,
  ) {}

  /** Runs until the signal aborts. Never throws. */
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
        await pause(Math.min(watchRetryInMs(shortWatches + 1), MAX_RECONNECT_MS), signal);
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
    // A watch that starts from a future version looks healthy but sends nothing.
    const metadata = { ...this.collection(this.apiVersion), needsSpec: false };
    const { resourceVersion } = await this.client.list(metadata, 1, '', signal);
    this.hasBroken = false;
    return isEarlierVersion(resourceVersion, this.resourceVersion);
  }

  /** @returns false if the kind is not installed. */
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
    const listed = new Map<string, T>();
    let next = '';
    let resourceVersion: string;
    do {
      const page = await this.client.list(this.collection(version), PAGE, next, signal);
      for (const object of page.items) {
        const outcome = this.listener.read(this.resource, object);
        if (outcome !== null) listed.set(nameOf(object), outcome);
        await pauseIfDue();
      }
      ({ next, resourceVersion } = page);
    } while (next !== '');
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
    const body = await this.client.watch(collection, query, signal, seconds * 1_000 + IDLE_AFTER_END_MS);
    const endsAt = Date.now() + seconds * 1_000;
    this.throttledSince = null;
    this.clearError();
    const events = watchEvents(collection, body);
    try {
      for (;;) {
        // A broken connection is not a failure: the next watch resumes after the last complete event.
        const event = await events.next().catch((error: unknown) => {
          if (error instanceof ClusterError) throw error;
          return null;
        });
        if (event === null || event.done) {
          this.hasBroken = event === null || Date.now() < endsAt - EARLY_END_MS;
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
        throw watchError(collection, object);
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

  /** @returns the delay before the next attempt, in milliseconds. */
  private handle(error: unknown): number {
    const status = error instanceof ClusterError ? error.status : undefined;
    const retryAfterMs = error instanceof ClusterError ? error.retryAfterMs : null;
    if (status === TOO_MANY_REQUESTS) {
      this.throttledSince ??= Date.now();
      const waitMs =
        Math.min(retryAfterMs ?? DEFAULT_RETRY_AFTER_MS, MAX_RETRY_AFTER_MS) * (1 + Math.random() / 4);
      if (Date.now() - this.throttledSince < THROTTLED_MS) return Math.max(waitMs, watchRetryInMs(1));
    } else this.throttledSince = null;
    const waitMs = watchRetryInMs(++this.failures);
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
