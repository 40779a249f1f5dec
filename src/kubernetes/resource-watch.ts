import { isObject } from '../json/is-object.js';
import { TimeSlice } from '../json/time-slice.js';
import { backOffMs, pause } from './back-off.js';
import type { Cluster } from './cluster.js';
import { ClusterError } from './cluster-error.js';
import { API_VERSIONS, collectionOf, type Resource, type ResourceCollection } from './resources.js';
import { wholeLines } from './watch-lines.js';

/** Few enough that parsing a page does not hold the event loop up. */
const PAGE_SIZE = '250';
/** The API server ends a watch after about this time; spread, so that not all are renewed at once. */
const WATCH_S = 240;
const WATCH_SPREAD_S = 60;
/** How often it is checked whether a kind is installed by now. */
const NOT_INSTALLED_MS = 10_000;
/** A watch that lasted this long was no failure, however it ended. */
const STABLE_MS = 5_000;
/** The longest pause before a watch that had begun is continued: changes are waiting. */
const MAX_RECONNECT_MS = 500;
const INTERNAL_ERROR = 'The watch failed inside the server; its log has the cause';
const GONE = 410;
const NOT_FOUND = 404;

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
 * Gone) begins with a list again. The mirror stays as it was while the cluster is not reachable.
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

  constructor(
    readonly resource: Resource,
    private readonly namespace: string | null,
    private readonly cluster: Cluster,
    private readonly listener: WatchListener<T>,
  ) {}

  /** Goes on until the signal aborts. Never throws. */
  async run(signal: AbortSignal): Promise<void> {
    let shortWatches = 0;
    while (!signal.aborted) {
      const began = Date.now();
      try {
        if (this.resourceVersion === null && !(await this.list(signal))) {
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
        const wait = backOffMs(this.failures++);
        this.handle(error);
        await pause(wait, signal);
      }
    }
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
    this.replaceAll(new Map());
    return false;
  }

  private async listAs(version: string, signal: AbortSignal): Promise<void> {
    const slice = new TimeSlice();
    const collection = this.collection(version);
    const listed = new Map<string, T>();
    let next = '';
    let resourceVersion: string;
    do {
      const query = { limit: PAGE_SIZE, ...(next === '' ? {} : { continue: next }) };
      const page = parsePage(collection, await this.cluster.readJson(collection, query, signal));
      for (const object of page.items) {
        const outcome = this.listener.read(this.resource, object);
        if (outcome !== null) listed.set(nameOf(object), outcome);
        await slice.pause();
      }
      ({ next, resourceVersion } = page);
    } while (next !== '');
    this.apiVersion = version;
    this.resourceVersion = resourceVersion;
    this.replaceAll(listed);
  }

  private async follow(signal: AbortSignal): Promise<void> {
    const collection = this.collection(this.apiVersion);
    const query = {
      allowWatchBookmarks: 'true',
      resourceVersion: this.resourceVersion ?? '',
      timeoutSeconds: String(Math.round(WATCH_S + Math.random() * WATCH_SPREAD_S)),
    };
    const body = await this.cluster.watch(collection, query, signal);
    this.clearError();
    const lines = wholeLines(body as AsyncIterable<Buffer>);
    try {
      for (;;) {
        // A connection that breaks is no failure: its successor goes on after the last whole event.
        const line = await lines.next().catch(() => undefined);
        if (!line || line.done) return;
        this.apply(collection, line.value);
      }
    } finally {
      body.destroy();
    }
  }

  private apply(collection: ResourceCollection, line: string): void {
    const { type, object } = parseEvent(collection, line);
    const { resourceVersion } = metadataOf(object);
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

  private handle(error: unknown): void {
    if (!(error instanceof ClusterError)) {
      this.resourceVersion = null;
      this.listener.onInternalError(error);
      this.fail(INTERNAL_ERROR);
    } else if (error.status === GONE || error.status === NOT_FOUND) this.resourceVersion = null;
    else this.fail(error.message);
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

interface Page {
  readonly items: readonly unknown[];
  readonly next: string;
  readonly resourceVersion: string;
}

function parsePage({ plural }: ResourceCollection, value: unknown): Page {
  const { items } = record(value);
  const { continue: next, resourceVersion } = metadataOf(value);
  if (!Array.isArray(items) || typeof resourceVersion !== 'string')
    throw new ClusterError(`The API server answered a list of ${plural} with something that is no list`);
  return { items, next: typeof next === 'string' ? next : '', resourceVersion };
}

function parseEvent({ plural }: ResourceCollection, line: string): { type: unknown; object: unknown } {
  try {
    const { type, object } = record(JSON.parse(line) as unknown);
    return { type, object };
  } catch {
    throw new ClusterError(`The API server sent something in a watch of ${plural} that is no event`);
  }
}

function statusError({ plural }: ResourceCollection, status: unknown): ClusterError {
  const { code, message } = record(status);
  return new ClusterError(
    `The API server ended the watch of ${plural}: ${typeof message === 'string' ? message.slice(0, 300) : String(code)}`,
    typeof code === 'number' ? code : undefined,
  );
}

function nameOf(object: unknown): string {
  const { namespace, name } = metadataOf(object);
  return `${String(namespace)}/${String(name)}`;
}

function metadataOf(object: unknown): Readonly<Record<string, unknown>> {
  return record(record(object)['metadata']);
}

function record(value: unknown): Readonly<Record<string, unknown>> {
  return isObject(value) ? value : {};
}
