import { isObject } from '../json/is-object.js';
import { TimeSlice } from '../json/time-slice.js';
import { backOffMs, pause } from './back-off.js';
import type { Cluster } from './cluster.js';
import { ClusterError } from './cluster-error.js';
import { type Place, placeOf } from './place.js';
import { API_VERSIONS, type Resource } from './resources.js';
import { wholeLines } from './watch-lines.js';

/** Few enough that parsing a page does not hold the event loop up. */
const PAGE = '250';
/** The API server ends a watch after about this time; spread, so that not all are renewed at once. */
const WATCH_S = 240;
const WATCH_SPREAD_S = 60;
/** How often a kind that is not installed is looked for. */
const ABSENT_MS = 10_000;
/** A watch that held this long was no failure, however it ended. */
const HELD_MS = 5_000;
/** The longest pause before a watch that had begun is taken up again: changes are waiting. */
const AGAIN_MS = 500;
const OUR_FAULT = 'The watch failed inside the server; its log has the cause';
const GONE = 410;
const NOT_FOUND = 404;

/** What a watch of one kind in one place reports. */
export interface WatchListener<T> {
  /** What an object is; null when it does not matter. */
  read(resource: Resource, object: unknown): T | null;
  same(one: T | undefined, other: T | undefined): boolean;
  /** The objects of these names are others than before. */
  changed(names: readonly string[]): void;
  /** `error`, `failures` or `isListed` changed. */
  moved(): void;
  /** Something of ours is at fault; it is tried again as if it were the cluster. */
  broke(error: unknown): void;
}

/**
 * Mirrors the objects of one kind in one namespace, or in all of them: a list in pages, then a watch from its resource
 * version on. A watch that ends or breaks goes on where its last whole event was; one whose place is too old (410 Gone)
 * begins with a list again. What is mirrored stays as it was while the cluster can't be asked.
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
    let broken = 0;
    while (!signal.aborted) {
      const began = Date.now();
      try {
        if (this.resourceVersion === null && !(await this.list(signal))) {
          this.settle();
          await pause(ABSENT_MS / 2 + (Math.random() * ABSENT_MS) / 2, signal);
          continue;
        }
        await this.follow(signal);
        const isFirst = Date.now() - began > HELD_MS;
        if (isFirst) this.failures = 0;
        broken = isFirst ? 0 : broken + 1;
        await pause(Math.min(backOffMs(broken), AGAIN_MS), signal);
      } catch (error) {
        if (signal.aborted) return;
        const wait = backOffMs(this.failures++);
        this.judge(error);
        await pause(wait, signal);
      }
    }
  }

  /** Whether the kind is installed; then everything of it has been listed. */
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
    const place = this.place(version);
    const found = new Map<string, T>();
    let next = '';
    let resourceVersion: string;
    do {
      const query = { limit: PAGE, ...(next === '' ? {} : { continue: next }) };
      const page = parsePage(place, await this.cluster.readJson(place, query, signal));
      for (const object of page.items) {
        const outcome = this.listener.read(this.resource, object);
        if (outcome !== null) found.set(nameOf(object), outcome);
        await slice.pause();
      }
      ({ next, resourceVersion } = page);
    } while (next !== '');
    this.apiVersion = version;
    this.resourceVersion = resourceVersion;
    this.replaceAll(found);
  }

  private async follow(signal: AbortSignal): Promise<void> {
    const place = this.place(this.apiVersion);
    const query = {
      allowWatchBookmarks: 'true',
      resourceVersion: this.resourceVersion ?? '',
      timeoutSeconds: String(Math.round(WATCH_S + Math.random() * WATCH_SPREAD_S)),
    };
    const body = await this.cluster.watch(place, query, signal);
    this.settle();
    const lines = wholeLines(body as AsyncIterable<Buffer>);
    try {
      for (;;) {
        // A connection that breaks is no failure: its successor goes on where the last whole event was.
        const line = await lines.next().catch(() => undefined);
        if (!line || line.done) return;
        this.take(place, line.value);
      }
    } finally {
      body.destroy();
    }
  }

  private take(place: Place, line: string): void {
    const { type, object } = parseEvent(place, line);
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
        throw statusError(place, object);
      default:
        return;
    }
    if (typeof resourceVersion === 'string') this.resourceVersion = resourceVersion;
  }

  private put(name: string, outcome: T | undefined): void {
    const before = this.objects.get(name);
    if (outcome === undefined) this.objects.delete(name);
    else this.objects.set(name, outcome);
    if (!this.listener.same(before, outcome)) this.listener.changed([name]);
  }

  private replaceAll(found: ReadonlyMap<string, T>): void {
    const names = new Set([...this.objects.keys(), ...found.keys()]);
    const changed = [...names].filter((name) => !this.listener.same(this.objects.get(name), found.get(name)));
    this.objects.clear();
    for (const [name, outcome] of found) this.objects.set(name, outcome);
    if (!this.isListed) {
      this.isListed = true;
      this.listener.moved();
    }
    if (changed.length > 0) this.listener.changed(changed);
  }

  private judge(error: unknown): void {
    if (!(error instanceof ClusterError)) {
      this.resourceVersion = null;
      this.listener.broke(error);
      this.fail(OUR_FAULT);
    } else if (error.status === GONE || error.status === NOT_FOUND) this.resourceVersion = null;
    else this.fail(error.message);
  }

  private fail(error: string): void {
    this.error = error;
    this.listener.moved();
  }

  private settle(): void {
    if (this.error === null) return;
    this.error = null;
    this.failures = 0;
    this.listener.moved();
  }

  private place(version: string): Place {
    return placeOf(this.resource, this.namespace, version);
  }
}

interface Page {
  readonly items: readonly unknown[];
  readonly next: string;
  readonly resourceVersion: string;
}

function parsePage({ plural }: Place, value: unknown): Page {
  const { items } = record(value);
  const { continue: next, resourceVersion } = metadataOf(value);
  if (!Array.isArray(items) || typeof resourceVersion !== 'string')
    throw new ClusterError(`The API server answered a list of ${plural} with something that is no list`);
  return { items, next: typeof next === 'string' ? next : '', resourceVersion };
}

function parseEvent({ plural }: Place, line: string): { type: unknown; object: unknown } {
  try {
    const { type, object } = record(JSON.parse(line) as unknown);
    return { type, object };
  } catch {
    throw new ClusterError(`The API server sent something in a watch of ${plural} that is no event`);
  }
}

function statusError({ plural }: Place, status: unknown): ClusterError {
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
